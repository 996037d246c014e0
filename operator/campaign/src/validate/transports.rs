//! Validates the settings of each transport, and the variants' transports: all transports must have the same number of
//! rails, and the operations of the scenarios must have the same meaning over each of them.

use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, Pattern, TransferOperation, TransportSpec, UcxMessages};

use super::reporter::Reporter;
use super::validated::{ValidatedScenario, one_per_sweep};
use super::{memory, nixl};
use crate::format::pluralized;

/// Reports every variant whose transport has a different number of rails, and every scenario whose operation differs
/// between the libraries of the variants.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    check_transport("spec.transport", &spec.transport, spec, scenarios, report);
    let writes = scenarios
        .iter()
        .any(|scenario| scenario.assignment.workload.writes());
    let expected = spec.transport.rails();
    for (index, variant) in spec.variants.iter().enumerate() {
        let Some(transport) = &variant.transport else {
            continue;
        };
        let path = format!("spec.variants[{index}].transport");
        check_transport(&path, transport, spec, scenarios, report);
        if writes && transport.completes_writes_locally() != spec.transport.completes_writes_locally() {
            report.add(
                path.clone(),
                "the writes of this variant and those of `spec.transport` complete at different events, so \
                 their latencies cannot be compared. Use the same `writeCompletion` in `spec.transport` and \
                 in all variants; other libraries than UCX use `Delivery`",
            );
        }
        let rails = transport.rails();
        if rails != expected {
            report.add(
                format!("{path}.{}.rails", transport.library()),
                format!(
                    "{}, but `spec.transport` has {expected}: all arms must use the same number of rails. \
                     Set `rails` to {expected}",
                    pluralized(rails.into(), "rail")
                ),
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
        let workload = &scenario.assignment.workload;
        if workload.is_pipelined() && workload.operation() == TransferOperation::WriteImmediate {
            report.add(
                format!("spec.scenarios[{}].transfer.operation", scenario.index),
                format!(
                    "WriteImmediate cannot be compared between {libraries}: UCX has no write with immediate \
                     data, so it needs a flush and a separate message. Use Write, Read or Send",
                    libraries = libraries.join(" and ")
                ),
            );
        }
    }
}

/// Checks the settings of one transport, and whether the scenarios can use them.
fn check_transport(
    path: &str,
    transport: &TransportSpec,
    spec: &BenchmarkRunSpec,
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    check_settings(path, transport, report);
    check_allocation(path, transport, scenarios, report);
    check_messages(path, transport, scenarios, report);
    check_writes(path, transport, spec, scenarios, report);
    nixl::check(path, transport, scenarios, report);
}

/// Reports duplicate settings, and settings that fabricbench itself sets.
fn check_settings(path: &str, transport: &TransportSpec, report: &mut Reporter) {
    let (path, settings): (_, Vec<_>) = match transport {
        TransportSpec::Ucx(ucx) => (
            format!("{path}.ucx.settings"),
            ucx.settings
                .iter()
                .map(|setting| (setting.name.as_str(), setting.is_reserved()))
                .collect(),
        ),
        TransportSpec::Nixl(nixl) => (
            format!("{path}.nixl.parameters"),
            nixl.parameters
                .iter()
                .map(|parameter| (parameter.name.as_str(), parameter.is_reserved()))
                .collect(),
        ),
        TransportSpec::Loopback(_) | TransportSpec::Libfabric(_) | TransportSpec::Verbs(_) => return,
    };
    report.unique_names(&path, settings.iter().map(|(name, _)| *name));
    for (index, (name, is_reserved)) in settings.into_iter().enumerate() {
        if matches!(transport, TransportSpec::Ucx(_)) && name.starts_with("UCX_") {
            report.add(
                format!("{path}[{index}].name"),
                format!(
                    "`{name}` must be written without the UCX_ prefix. Use `{}`",
                    name.trim_start_matches("UCX_")
                ),
            );
        } else if is_reserved {
            let problem = match transport {
                TransportSpec::Nixl(_) => {
                    format!("`{name}` is determined by `spec.devices.nics` or by the runner. Remove it")
                }
                _ => format!(
                    "`{name}` is determined by another field or by the runner: use \
                     `spec.transport.ucx.transports`, `spec.transport.ucx.emulation` or `spec.devices.nics`, \
                     or remove it"
                ),
            };
            report.add(format!("{path}[{index}].name"), problem);
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
    for scenario in one_per_sweep(scenarios) {
        if let Some(field) = memory::field_with(scenario, MemoryKind::Cuda) {
            let path = format!("{path}.ucx");
            report.add(
                field,
                format!(
                    "GPU memory (`Cuda`) cannot be used with `{path}.messages: ActiveMessage`, because the \
                     runner copies short active messages to host memory. Use `messages: Tag`"
                ),
            );
        }
    }
}

/// Reports scenarios that cannot measure writes whose completion does not mean that the data has arrived.
fn check_writes(
    path: &str,
    transport: &TransportSpec,
    spec: &BenchmarkRunSpec,
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    if !transport.completes_writes_locally() {
        return;
    }
    let many_to_many = spec.placement.pattern == Pattern::ManyToMany;
    for scenario in one_per_sweep(scenarios) {
        let workload = &scenario.assignment.workload;
        if !workload.allows_local_write_completion(many_to_many) {
            let path = format!("{path}.ucx");
            report.add(
                format!("spec.scenarios[{}]", scenario.index),
                format!(
                    "`{path}.writeCompletion: Local` supports writes only in `transfer` and \
                     `segmentTransfer` scenarios in one direction, without `load` and `workload: Mix`, and \
                     with `spec.placement.pattern: Pairwise`; parameterServing writes in every mode. Use \
                     `writeCompletion: Delivery`, or change the scenario or the pattern"
                ),
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
            format!(
                "`allocation: Library` supports only one rail, but there are {rails}, and UCX allocates the \
                 memory of each rail separately. Set `rails` to 1, or remove `allocation`"
            ),
        );
    }
    for scenario in one_per_sweep(scenarios) {
        let mut kinds = scenario.assignment.distinct_memory_kinds();
        if let Some(kind) = kinds.find(|kind| *kind != MemoryKind::Heap)
            && let Some(field) = memory::field_with(scenario, kind)
        {
            report.add(
                field,
                format!(
                    "UCX cannot allocate `{kind:?}` memory, which `{path}.allocation` requires. Use `Heap`, \
                     or remove `allocation`"
                ),
            );
        }
    }
}
