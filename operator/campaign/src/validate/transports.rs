//! Validates the settings of each transport, and the transports of the variants: all must have the same number of rails,
//! and scenarios must use operations that mean the same over each of them.

use crds::assignment::Workload;
use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, TransferOperation, TransportSpec, UcxMessages};

use super::problem::Reporter;
use super::{ProblemKind, ValidatedScenario};

/// Reports every variant whose transport has a different number of rails, and every scenario whose operation differs
/// between the libraries of the variants.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    check_settings("spec.transport", &spec.transport, report);
    check_allocation("spec.transport", &spec.transport, scenarios, report);
    check_messages("spec.transport", &spec.transport, scenarios, report);
    let expected = spec.transport.rails();
    for (index, variant) in spec.variants.iter().enumerate() {
        let Some(transport) = &variant.transport else {
            continue;
        };
        let path = format!("spec.variants[{index}].transport");
        check_settings(&path, transport, report);
        check_allocation(&path, transport, scenarios, report);
        check_messages(&path, transport, scenarios, report);
        let rails = transport.rails();
        if rails != expected {
            report.add(
                format!("{path}.{}.rails", transport.library()),
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
    for scenario in scenarios {
        if matches!(&scenario.assignment.workload,
            Workload::Transfer(transfer) if transfer.operation == TransferOperation::WriteImmediate)
        {
            report.add(
                format!("spec.scenarios[{}].transfer.operation", scenario.index),
                ProblemKind::DifferentOperations {
                    libraries: libraries.join(" and "),
                },
            );
        }
    }
}

/// Reports duplicate settings, and settings that fabricbench itself makes.
fn check_settings(path: &str, transport: &TransportSpec, report: &mut Reporter) {
    let TransportSpec::Ucx(ucx) = transport else {
        return;
    };
    let path = format!("{path}.ucx.settings");
    report.unique_names(&path, ucx.settings.iter().map(|setting| setting.name.as_str()));
    for (index, setting) in ucx.settings.iter().enumerate() {
        if setting.is_reserved() {
            report.add(
                format!("{path}[{index}].name"),
                ProblemKind::ReservedSetting {
                    name: setting.name.clone(),
                },
            );
        }
    }
}

/// Reports memory kinds that active messages cannot be received into.
fn check_messages(
    path: &str,
    transport: &TransportSpec,
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    if !matches!(transport, TransportSpec::Ucx(ucx) if ucx.messages == UcxMessages::ActiveMessage) {
        return;
    }
    for (index, scenario) in scenarios.iter().enumerate() {
        if scenario.assignment.memory == MemoryKind::Cuda {
            report.add(
                format!("spec.scenarios[{index}].memory"),
                ProblemKind::ActiveMessagesToGpu {
                    path: format!("{path}.ucx"),
                },
            );
        }
    }
}

/// Reports rails and memory kinds that cannot be combined with memory that UCX allocates.
fn check_allocation(
    path: &str,
    transport: &TransportSpec,
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    if !transport.allocates_memory() {
        return;
    }
    let path = format!("{path}.{}", transport.library());
    if transport.rails() > 1 {
        let rails = transport.rails();
        report.add(
            format!("{path}.rails"),
            ProblemKind::RailsOfLibraryMemory { rails },
        );
    }
    for (index, scenario) in scenarios.iter().enumerate() {
        let kind = scenario.assignment.memory;
        if kind != MemoryKind::Heap {
            report.add(
                format!("spec.scenarios[{index}].memory"),
                ProblemKind::KindOfLibraryMemory {
                    kind,
                    path: path.clone(),
                },
            );
        }
    }
}
