//! Validates the GPUs and NICs of the workers: GPUs must be requested and used by a thread, and if NICs are named,
//! there must be one for each rail.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, TransportSpec};

use super::ValidatedScenario;
use super::claims;
use super::reporter::Reporter;

/// Maximum number of rails of a worker, over all its GPUs.
const MAX_RAILS: u32 = 64;
/// Cause and fix if a field is about NICs, but no transport uses any.
const NO_NICS: &str = "the transport uses no NICs. Remove this field, or choose another transport";

/// Validates `spec.devices`, `spec.placement.align`, and the number of EFA devices.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    check_gpus(spec, scenarios, report);
    let rails = spec.transport.rails().saturating_mul(spec.devices.groups());
    if rails > MAX_RAILS {
        let max = MAX_RAILS;
        report.add(
            "spec.devices.gpus",
            format!(
                "every GPU has its own rails, {rails} in total, but the maximum is {max}. Use fewer rails or \
                 GPUs"
            ),
        );
    }
    let (efas, devices) = (spec.resources.efas, claims::fewest_devices(spec));
    if spec.transports().any(TransportSpec::uses_efa) && rails > efas.saturating_add(devices) {
        let problem = match devices {
            0 => format!(
                "every rail needs an EFA device: a worker has {rails} rails, but `spec.resources.efas` is \
                 {efas}. Request {rails} devices, or use fewer rails"
            ),
            devices => format!(
                "every rail needs an EFA device: a worker has {rails} rails, but claims only {devices} \
                 devices. Request more devices, or use fewer rails"
            ),
        };
        report.add("spec.transport.libfabric.rails", problem);
    }
    check_nics(spec, rails, report);
    if !spec.placement.align.is_none() && !spec.transports().any(TransportSpec::uses_nics) {
        report.add("spec.placement.align", NO_NICS);
    }
}

fn check_gpus(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    let gpus = &spec.devices.gpus;
    let gpu_scenarios = scenarios
        .iter()
        .filter(|scenario| scenario.assignment.needs_gpu());
    let most_threads = gpu_scenarios
        .map(|scenario| scenario.assignment.threads_on_gpus())
        .max();
    let used = most_threads.unwrap_or(0);
    if gpus.len() > used as usize {
        report.add(
            "spec.devices.gpus",
            format!(
                "the list has more GPUs than a scenario with GPU memory (`Cuda`) can use: each thread uses \
                 one GPU, and no such scenario has more than {used} threads. Remove GPUs, or raise \
                 `threads` in a transfer scenario"
            ),
        );
    }
    if gpus.is_empty() {
        check_default_gpus(scenarios, report);
    }
    let mut seen = BTreeSet::new();
    for (index, gpu) in gpus.iter().enumerate() {
        let path = format!("spec.devices.gpus[{index}]");
        if *gpu >= spec.resources.gpus.saturating_add(claims::fewest_devices(spec)) {
            let requested = spec.resources.gpus;
            report.add(
                path,
                format!(
                    "GPU {gpu} does not exist in the container: `spec.resources.gpus` is {requested}, and \
                     indexes start at 0. Request more GPUs, or use a lower index"
                ),
            );
        } else if !seen.insert(gpu) {
            report.add(path, format!("`{gpu}` is in the list twice. Remove one"));
        }
    }
}

/// Checks that all scenarios use the same GPUs if none are named. All scenarios of a process share the memory of their
/// threads, and by default the threads of a segment use all GPUs, but other threads GPU 0.
fn check_default_gpus(scenarios: &[ValidatedScenario], report: &mut Reporter) {
    let mut assignments = scenarios.iter().map(|scenario| &scenario.assignment);
    let segment = assignments
        .clone()
        .find(|scenario| scenario.has_segments_on_gpus());
    let other = assignments.find(|scenario| {
        scenario.uses(MemoryKind::Cuda) && !scenario.has_segments_on_gpus() && scenario.threads_on_gpus() > 1
    });
    if let (Some(segment), Some(other)) = (segment, other) {
        let (segment, other) = (&segment.name, &other.name);
        report.add(
            "spec.devices.gpus",
            format!(
                "the segment of scenario \"{segment}\" uses all GPUs of a worker by default, but the threads \
                 of scenario \"{other}\" use GPU 0, and all scenarios of a run share the memory of each \
                 thread. Name the GPUs that both use, such as [0], or measure the scenarios in separate runs"
            ),
        );
    }
}

fn check_nics(spec: &BenchmarkRunSpec, rails: u32, report: &mut Reporter) {
    let nics = &spec.devices.nics;
    if nics.is_empty() {
        return;
    }
    if !spec.transports().any(TransportSpec::uses_nics) {
        report.add("spec.devices.nics", NO_NICS);
        return;
    }
    if nics.len() != rails as usize {
        report.add(
            "spec.devices.nics",
            format!(
                "{nics} NICs are named, but there are {rails} rails (the rails of the transport for each \
                 GPU). Name one NIC for each rail, or none",
                nics = nics.len()
            ),
        );
    }
    // For an IP transport, several rails may share a network interface. RDMA devices must not be shared.
    let mut seen = BTreeSet::new();
    for (index, nic) in nics.iter().enumerate() {
        if !seen.insert(nic) && !spec.transports().all(TransportSpec::uses_ip) {
            report.add(
                format!("spec.devices.nics[{index}]"),
                format!("`{nic}` is in the list twice. Remove one"),
            );
        }
    }
}
