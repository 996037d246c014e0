//! Describes how the timed regions of arms with different libraries differ. Performs no I/O.

use crds::assignment::{TransferWorkload, Workload};
use crds::v1alpha1::{TransferOperation, TransportSpec};

use super::{Notes, Severity};
use crate::plan::Plan;

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    let Some(baseline) = plan.arms.get(plan.baseline) else {
        return;
    };
    let reference = plan.transport_of(baseline);
    for scenario in &plan.scenarios {
        let Workload::Transfer(transfer) = &scenario.assignment.workload else {
            continue;
        };
        for arm in plan.arms.iter().filter(|arm| arm.control.is_none()) {
            let transport = plan.transport_of(arm);
            let (own, of_baseline) = (
                end_of_sample(transport, transfer),
                end_of_sample(reference, transfer),
            );
            if let (Some(own), Some(of_baseline)) = (own, of_baseline)
                && own != of_baseline
            {
                notes.add(
                    Severity::Notice,
                    format!(
                        "scenario {}: a sample of {} ends {own}, and a sample of the baseline ends {of_baseline}",
                        scenario.assignment.name, arm.name
                    ),
                );
            }
        }
    }
}

/// The event that ends a sample, if it differs between libraries. A `Send` or `WriteImmediate` ends with the credit of
/// the target, and a `Read` when its data has arrived, with every library. A flush follows only with UCX.
fn end_of_sample(transport: &TransportSpec, transfer: &TransferWorkload) -> Option<&'static str> {
    if transfer.flush {
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
        TransportSpec::Ucx(_) => {
            Some("when a flush completes, which covers all writes that were posted before it")
        }
        TransportSpec::Loopback(_) => Some("when the target's process has copied the data"),
        TransportSpec::Nixl(_) | TransportSpec::Verbs(_) => None,
    }
}
