//! Validates the GPUs and NICs of the workers: GPUs must be requested and used by a thread, and if NICs are named,
//! there must be one for each rail.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, TransportSpec};

use super::claims;
use super::reporter::Reporter;
use super::{ClaimsProblem, ProblemKind, ScenarioProblem, ValidatedScenario};

/// Maximum number of rails of a worker, over all its GPUs.
const MAX_RAILS: u32 = 64;

/// Validates `spec.devices`, `spec.placement.align`, and the number of EFA devices.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    check_gpus(spec, scenarios, report);
    let rails = spec.transport.rails().saturating_mul(spec.devices.groups());
    if rails > MAX_RAILS {
        let max = MAX_RAILS;
        report.add("spec.devices.gpus", ProblemKind::TooManyRails { rails, max });
    }
    let (efas, devices) = (spec.resources.efas, claims::fewest_devices(spec));
    if spec.transports().any(TransportSpec::uses_efa) && rails > efas.saturating_add(devices) {
        let problem: ProblemKind = match devices {
            0 => ProblemKind::MoreRailsThanEfas { rails, efas },
            devices => ClaimsProblem::FewerDevicesThanRails { rails, devices }.into(),
        };
        report.add("spec.transport.libfabric.rails", problem);
    }
    check_nics(spec, rails, report);
    if !spec.placement.align.is_none() && !spec.transports().any(TransportSpec::uses_nics) {
        report.add("spec.placement.align", ProblemKind::NoNics);
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
        report.add("spec.devices.gpus", ProblemKind::UnusedGpus { threads: used });
    }
    if gpus.is_empty() {
        check_default_gpus(scenarios, report);
    }
    let mut seen = BTreeSet::new();
    for (index, gpu) in gpus.iter().enumerate() {
        let path = format!("spec.devices.gpus[{index}]");
        if *gpu >= spec.resources.gpus.saturating_add(claims::fewest_devices(spec)) {
            let requested = spec.resources.gpus;
            report.add(path, ProblemKind::UnknownGpu { gpu: *gpu, requested });
        } else if !seen.insert(gpu) {
            report.add(
                path,
                ProblemKind::DuplicateDevice {
                    name: gpu.to_string(),
                },
            );
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
        let (segment, other) = (segment.name.clone(), other.name.clone());
        report.add(
            "spec.devices.gpus",
            ScenarioProblem::DifferentGpus { segment, other },
        );
    }
}

fn check_nics(spec: &BenchmarkRunSpec, rails: u32, report: &mut Reporter) {
    let nics = &spec.devices.nics;
    if nics.is_empty() {
        return;
    }
    if !spec.transports().any(TransportSpec::uses_nics) {
        report.add("spec.devices.nics", ProblemKind::NoNics);
        return;
    }
    if nics.len() != rails as usize {
        report.add(
            "spec.devices.nics",
            ProblemKind::NicsPerRail {
                nics: nics.len(),
                rails,
            },
        );
    }
    // For an IP transport, several rails may share a network interface. RDMA devices must not be shared.
    let mut seen = BTreeSet::new();
    for (index, nic) in nics.iter().enumerate() {
        if !seen.insert(nic) && !spec.transports().all(TransportSpec::uses_ip) {
            report.add(
                format!("spec.devices.nics[{index}]"),
                ProblemKind::DuplicateDevice { name: nic.clone() },
            );
        }
    }
}
