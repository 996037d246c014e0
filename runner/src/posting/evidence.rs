//! Evidence lines, with the exact wording that the test procedures specify. Performs no I/O. The lines are derived from
//! the counters after the window has ended, so a line shows that the optimization took effect, not only that it was
//! requested.

use crds::record::PostingCounters;
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::TransferOperation;

use crate::transport::CallNames;

/// Evidence lines for one case that transfers `size` bytes at a time with `operation`, striped by `rule` over `rails`
/// open rails.
///
/// The procedures specify no wording for injected writes, or for sends and reads with FI_MORE. The lines for these
/// posts follow the same pattern and name the call or operation.
pub fn lines(
    counters: &PostingCounters,
    names: CallNames,
    operation: TransferOperation,
    rule: StripingRule,
    size: u64,
    rails: u64,
) -> Vec<String> {
    let mut lines = Vec::new();
    if counters.injected > 0 {
        // Apart from sends, only writes with immediate data are injected.
        let call = match (names, operation) {
            (CallNames::Verbs, _) => "IBV_SEND_INLINE",
            (CallNames::Libfabric, TransferOperation::Send) => "fi_injectdata",
            (CallNames::Libfabric, _) => "fi_inject_writedata",
        };
        lines.push(format!("Using {call} for small message size={size}"));
    }
    if counters.more > 0 {
        let posted = match operation {
            TransferOperation::Send => "Message",
            TransferOperation::Write | TransferOperation::WriteImmediate => "RDMA write",
            TransferOperation::Read => "RDMA read",
        };
        lines.push(match names {
            CallNames::Libfabric => format!("{posted} posted with FI_MORE (batched)"),
            CallNames::Verbs => format!("{posted} chained with others in one ibv_post_send (batched)"),
        });
    }
    let not_coalesced = StripingRule {
        policy: StripingPolicy::Nixl,
        ..rule
    };
    let (used, without) = (
        rule.stripes(size, rails).rails,
        not_coalesced.stripes(size, rails).rails,
    );
    if rule.policy == StripingPolicy::NixlCoalesce && used < without && counters.posts > 0 {
        lines.push(format!(
            "Transfer coalescing: reducing rails from {without} to {used} for transfer_size={size}"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const COALESCE: StripingRule = StripingRule {
        policy: StripingPolicy::NixlCoalesce,
        threshold_bytes: 16 * 1024,
        min_chunk_bytes: 16 * 1024,
    };

    fn counters_with(posts: u64, injected: u64, more: u64) -> PostingCounters {
        PostingCounters {
            posts,
            injected,
            more,
            ..PostingCounters::default()
        }
    }

    #[test]
    fn lines_match_the_test_procedures() {
        assert_eq!(
            lines(
                &counters_with(1, 1, 0),
                CallNames::Libfabric,
                TransferOperation::Send,
                COALESCE,
                64,
                4
            ),
            ["Using fi_injectdata for small message size=64"]
        );
        assert_eq!(
            lines(
                &counters_with(2, 0, 1),
                CallNames::Libfabric,
                TransferOperation::Write,
                COALESCE,
                32 * 1024,
                4
            ),
            [
                "RDMA write posted with FI_MORE (batched)",
                "Transfer coalescing: reducing rails from 4 to 2 for transfer_size=32768",
            ]
        );
    }

    #[test]
    fn verbs_lines_name_the_verbs_calls() {
        assert_eq!(
            lines(
                &counters_with(4, 1, 2),
                CallNames::Verbs,
                TransferOperation::WriteImmediate,
                COALESCE,
                64,
                1
            ),
            [
                "Using IBV_SEND_INLINE for small message size=64",
                "RDMA write chained with others in one ibv_post_send (batched)"
            ]
        );
    }

    #[test]
    fn lines_name_the_operation_that_was_posted() {
        let line = |operation, injected, more| {
            let mut lines = lines(
                &counters_with(2, injected, more),
                CallNames::Libfabric,
                operation,
                COALESCE,
                64 * 1024,
                1,
            );
            assert_eq!(lines.len(), 1);
            lines.remove(0)
        };
        assert_eq!(
            line(TransferOperation::WriteImmediate, 1, 0),
            "Using fi_inject_writedata for small message size=65536"
        );
        assert_eq!(
            line(TransferOperation::Send, 0, 1),
            "Message posted with FI_MORE (batched)"
        );
        assert_eq!(
            line(TransferOperation::Read, 0, 1),
            "RDMA read posted with FI_MORE (batched)"
        );
    }

    #[test]
    fn reports_no_evidence_for_optimizations_without_effect() {
        let none = Vec::<String>::new();
        assert_eq!(
            lines(
                &counters_with(8, 0, 0),
                CallNames::Libfabric,
                TransferOperation::Write,
                COALESCE,
                64 * 1024,
                4
            ),
            none
        );
        assert_eq!(
            lines(
                &counters_with(8, 0, 0),
                CallNames::Libfabric,
                TransferOperation::Write,
                COALESCE,
                32 * 1024,
                1
            ),
            none
        );
        assert_eq!(
            lines(
                &counters_with(0, 0, 0),
                CallNames::Libfabric,
                TransferOperation::Write,
                COALESCE,
                32 * 1024,
                4
            ),
            none
        );
    }
}
