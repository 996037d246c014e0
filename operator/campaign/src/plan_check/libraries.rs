//! Describes how the timed regions of arms with different libraries differ. Performs no I/O.

use crds::assignment::{TransferWorkload, Workload};
use crds::v1alpha1::{TransferOperation, TransportSpec, UcxWriteCompletion};

use super::note::{Notes, Severity};
use crate::plan::Plan;

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    for difference in differences(plan) {
        notes.add(Severity::Notice, difference);
    }
}

/// Describes each scenario and arm whose samples end at a different event than the baseline's samples, so that a
/// verdict also compares the events.
pub(crate) fn differences(plan: &Plan) -> Vec<String> {
    let Some(baseline) = plan.arms.get(plan.baseline) else {
        return Vec::new();
    };
    let reference = plan.transport_of(baseline);
    let mut found = Vec::new();
    for scenario in &plan.scenarios {
        let Workload::Transfer(transfer) = &scenario.assignment.workload else {
            continue;
        };
        for arm in plan.arms.iter().filter(|arm| arm.control.is_none()) {
            let transport = plan.transport_of(arm);
            let (own, baseline_end) = (
                end_of_sample(transport, transfer),
                end_of_sample(reference, transfer),
            );
            if let (Some(own), Some(baseline_end)) = (own, baseline_end)
                && own != baseline_end
            {
                found.push(format!(
                    "scenario {}: a sample of {} ends {own}, and a sample of the baseline ends {baseline_end}",
                    scenario.assignment.name, arm.name
                ));
            }
        }
    }
    found
}

/// Event that ends a sample, if it differs between libraries. With every library, a `Send` or `WriteImmediate` ends
/// with the target's credit, and a `Read` ends when its data has arrived. If the workload requests a flush after every
/// transfer, only UCX performs it.
fn end_of_sample(transport: &TransportSpec, transfer: &TransferWorkload) -> Option<&'static str> {
    if transfer.is_flushed() {
        return Some(match transport {
            TransportSpec::Ucx(_) => "when the target has confirmed the message and a flush has completed",
            _ => "when the target has confirmed the message, without a flush",
        });
    }
    if transfer.operation != TransferOperation::Write {
        return None;
    }
    match transport {
        TransportSpec::Libfabric(_) => Some("when the provider reports the delivery of the write"),
        TransportSpec::Ucx(ucx) => Some(match ucx.write_completion {
            UcxWriteCompletion::Delivery => {
                "when a flush completes, which covers all writes that were posted before it"
            }
            UcxWriteCompletion::Local => "when the source memory of the write can be reused",
        }),
        TransportSpec::Loopback(_) => Some("when the target's process has copied the data"),
        TransportSpec::Nixl(_) => {
            Some("when the request is complete, which includes a flush of the write by NIXL's backend")
        }
        TransportSpec::Verbs(_) => Some("when the target's NIC has acknowledged the write"),
    }
}
