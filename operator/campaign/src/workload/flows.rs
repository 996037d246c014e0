//! Checks that workloads of concurrent flows have in common.

use crds::v1alpha1::ManyToMany;

use crate::validate::reporter::Reporter;

/// Maximum number of measuring threads of a worker, over all its flows.
const MAX_THREADS: u32 = 64;

/// Cause and fix if the transfers of flows are an open loop.
pub(super) const OPEN_LOOP: &str = "if `spec.placement.pattern` is ManyToMany, a transfer starts as soon as an earlier one of its \
                         flow has completed. Remove `load`, or use `pattern: Pairwise`";

/// Reports at `path` that a worker's flows have too many threads in total.
pub(super) fn check_threads(path: String, threads: u32, pattern: ManyToMany, report: &mut Reporter) {
    let flows = pattern.max_flows_of_a_worker();
    if threads.saturating_mul(flows) > MAX_THREADS {
        let max = MAX_THREADS;
        report.add(
            path,
            format!(
                "each flow has separate threads, so {threads} threads and {flows} flows of a worker need {}, \
                 more than {max}. Use fewer threads, senders or receivers",
                u64::from(threads) * u64::from(flows)
            ),
        );
    }
}
