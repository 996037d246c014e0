//! Checks the NIXL transport fields that depend on each other or on the scenarios.

use crds::units::Size;
use crds::v1alpha1::{Nixl, NixlDescriptors, NixlRequests, TransferOperation, TransportSpec};

use super::reporter::Reporter;
use super::validated::{ValidatedScenario, one_per_sweep};

/// Reports scenarios and descriptors that NIXL cannot transfer. Does nothing for other libraries.
pub(super) fn check(
    path: &str,
    transport: &TransportSpec,
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    let TransportSpec::Nixl(nixl) = transport else {
        return;
    };
    let path = format!("{path}.nixl");
    check_operations(&path, scenarios, report);
    check_engine_config(&path, nixl, report);
    if let Some(descriptors) = nixl.descriptors {
        check_descriptors(&path, nixl, descriptors, scenarios, report);
    }
}

/// Reports scenarios with messages, which NIXL does not transfer.
fn check_operations(path: &str, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    for scenario in one_per_sweep(scenarios) {
        let workload = &scenario.assignment.workload;
        let sends = workload.operation() == TransferOperation::Send && workload.tool().is_none();
        if sends {
            report.add(
                format!("spec.scenarios[{}]", scenario.index),
                format!(
                    "{path} has no messages with a payload: an agent reads and writes registered memory, and \
                     its notifications carry no payload. Use `operation: Write`, `WriteImmediate` or `Read`, \
                     or another transport"
                ),
            );
        }
    }
}

/// Reports UCX settings that NIXL would not pass on: it splits `engine_config` at every comma, so the value of a setting
/// cannot be a list.
fn check_engine_config(path: &str, nixl: &Nixl, report: &mut Reporter) {
    for (index, parameter) in nixl.parameters.iter().enumerate() {
        if parameter.name != "engine_config" {
            continue;
        }
        let mut settings = parameter.value.split(',');
        if let Some(setting) = settings.find(|setting| !setting.contains('=')) {
            let message = format!(
                "NIXL splits engine_config at commas, and \"{setting}\" is not of the form NAME=VALUE. If \
                 the value of a setting is a list, set the variable in the variant's environment instead, \
                 for example UCX_TLS"
            );
            report.add(format!("{path}.parameters[{index}].value"), message);
        }
    }
}

fn check_descriptors(
    path: &str,
    nixl: &Nixl,
    descriptors: NixlDescriptors,
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    let field = format!("{path}.descriptors");
    if descriptors.merge && nixl.requests == NixlRequests::Created {
        report.add(
            format!("{field}.merge"),
            "requires `requests: Prepared`, because NIXL does not merge descriptors of requests that it \
             creates",
        );
    }
    let max_bytes = descriptors.max_bytes.bytes();
    if max_bytes == 0 {
        report.add(
            format!("{field}.maxBytes"),
            "0 bytes have no effect. Set it to the maximum size of a descriptor, or remove descriptors",
        );
        return;
    }
    let largest = scenarios.iter().flat_map(|scenario| &scenario.sizes).max();
    if let Some(size) = largest.filter(|size| size.div_ceil(max_bytes) > NixlDescriptors::MAX_COUNT) {
        report.add(
            format!("{field}.maxBytes"),
            format!(
                "a transfer of {size} would have {count} descriptors, more than {max}. Increase `maxBytes`",
                max = NixlDescriptors::MAX_COUNT,
                size = Size(*size),
                count = size.div_ceil(max_bytes)
            ),
        );
    }
}
