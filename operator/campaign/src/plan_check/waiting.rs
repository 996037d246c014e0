//! Finds scenarios that wait for completions with libraries that cannot. Performs no I/O.

use std::collections::BTreeSet;

use crds::v1alpha1::{LibfabricProvider, Polling, TransportSpec};

use super::effects::variants_where;
use super::note::{Notes, Severity};
use crate::plan::Plan;

/// Reports scenarios with `polling: Wait` and variants whose library cannot wait. Their cases fail, and other scenarios
/// are measured.
pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    let libraries: BTreeSet<&'static str> = plan.transports().filter_map(without_wait).collect();
    for scenario in &plan.scenarios {
        // A command does not use the transport.
        let is_command = scenario.assignment.workload.tool().is_some();
        if scenario.assignment.polling != Some(Polling::Wait) || is_command {
            continue;
        }
        for library in &libraries {
            let arms = variants_where(plan, |arm| without_wait(plan.transport_of(arm)) == Some(*library));
            notes.add(
                Severity::Warning,
                format!(
                    "scenario {}: {library} cannot wait for completions, so the cases of {arms} will fail: use polling: \
                     Spin or Yield, or remove polling",
                    scenario.assignment.name
                ),
            );
        }
    }
}

/// Name of the library, if it cannot wait.
fn without_wait(transport: &TransportSpec) -> Option<&'static str> {
    match transport {
        // Its completion queues have no file descriptor (fi_cq_open with FI_WAIT_FD fails).
        TransportSpec::Libfabric(libfabric) if libfabric.provider == LibfabricProvider::Shm => {
            Some("provider shm")
        }
        // Its agent has no call that waits.
        TransportSpec::Nixl(_) => Some("NIXL"),
        TransportSpec::Libfabric(_)
        | TransportSpec::Ucx(_)
        | TransportSpec::Verbs(_)
        | TransportSpec::Loopback(_) => None,
    }
}
