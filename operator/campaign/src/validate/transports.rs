//! Validates the transports of the variants: all must have the same number of rails, and scenarios must use operations
//! that mean the same over each of them.

use crds::assignment::Workload;
use crds::v1alpha1::{BenchmarkRunSpec, TransferOperation, TransportSpec};

use super::problem::Reporter;
use super::{ProblemKind, ValidatedScenario};

/// Reports every variant whose transport has a different number of rails, and every scenario whose operation differs
/// between the libraries of the variants.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    let expected = spec.transport.rails();
    for (index, variant) in spec.variants.iter().enumerate() {
        let Some(transport) = &variant.transport else {
            continue;
        };
        let rails = transport.rails();
        if rails != expected {
            report.add(
                format!("spec.variants[{index}].transport.{}.rails", transport.library()),
                ProblemKind::UnequalRails { rails, expected },
            );
        }
    }
    let mut libraries: Vec<&str> = spec.transports().map(TransportSpec::library).collect();
    libraries.sort_unstable();
    libraries.dedup();
    if !libraries.contains(&"ucx") || libraries.len() == 1 {
        return;
    }
    for (index, scenario) in scenarios.iter().enumerate() {
        if matches!(&scenario.assignment.workload,
            Workload::Transfer(transfer) if transfer.operation == TransferOperation::WriteImmediate)
        {
            report.add(
                format!("spec.scenarios[{index}].transfer.operation"),
                ProblemKind::DifferentOperations {
                    libraries: libraries.join(" and "),
                },
            );
        }
    }
}
