//! Rejects amounts that no machine has, and lists that contain an element twice. Performs no I/O.

use std::fmt::Display;

use crds::units::Size;
use crds::v1alpha1::{BenchmarkRunSpec, TransportSpec};

use super::reporter::Reporter;
use crate::format::bytes_per_second;

/// Maximum memory of a worker. The largest machines of cloud providers have 32 TiB.
const MAX_MEMORY: Size = Size(64 << 40);
/// Maximum rate of multicast datagrams in bytes per second: the rate of an Ethernet link with 800 Gbit/s.
const MAX_MULTICAST_RATE: Size = Size(100_000_000_000);

/// Checks the amounts of resources, the multicast rates, and the lists of transports and tolerations.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let resources = &spec.resources;
    let amounts = [
        ("spec.resources.memory", resources.memory),
        ("spec.resources.sharedMemory", resources.shared_memory),
        ("spec.resources.hugepages2Mi", resources.hugepages_2mi),
    ];
    for (path, given) in amounts {
        if let Some(given) = given.filter(|given| *given > MAX_MEMORY) {
            report.add(path, too_large(given, MAX_MEMORY));
        }
    }
    for (index, scenario) in spec.scenarios.iter().enumerate() {
        let serving = scenario.parameter_serving.as_ref();
        let rate = serving.and_then(|serving| serving.multicast.as_ref()?.rate);
        if let Some(given) = rate.filter(|given| *given > MAX_MULTICAST_RATE) {
            let rate = |size: Size| bytes_per_second(size.bytes() as f64);
            report.add(
                format!("spec.scenarios[{index}].parameterServing.multicast.rate"),
                too_large(rate(given), rate(MAX_MULTICAST_RATE)),
            );
        }
    }
    check_transports("spec.transport", &spec.transport, report);
    for (index, variant) in spec.variants.iter().enumerate() {
        if let Some(transport) = &variant.transport {
            check_transports(&format!("spec.variants[{index}].transport"), transport, report);
        }
    }
    check_unique("spec.placement.tolerations", &spec.placement.tolerations, report);
}

/// Cause and fix if an amount is larger than any machine has.
fn too_large(given: impl Display, max: impl Display) -> String {
    format!("{given} is greater than the maximum of {max}. Use a smaller value")
}

/// Reports transports of UCX that are listed twice.
fn check_transports(path: &str, transport: &TransportSpec, report: &mut Reporter) {
    if let TransportSpec::Ucx(ucx) = transport {
        check_unique(&format!("{path}.ucx.transports"), &ucx.transports, report);
    }
}

/// Reports every element of a list that an earlier element equals.
fn check_unique<T: PartialEq>(path: &str, elements: &[T], report: &mut Reporter) {
    for (index, element) in elements.iter().enumerate() {
        let first = elements.iter().position(|earlier| earlier == element);
        if let Some(first) = first.filter(|first| *first < index) {
            report.add(
                format!("{path}[{index}]"),
                format!("this is the same as {path}[{first}]. Remove one"),
            );
        }
    }
}
