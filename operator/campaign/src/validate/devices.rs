//! Validates the GPUs and NICs of the workers: GPUs must be requested and used by a thread, and if NICs are named,
//! there must be one for each rail.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, TransportSpec};

use super::claims;
use super::reporter::Reporter;
use super::validated::ValidatedScenario;
use crate::format::pluralized;

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
    let (efas, nics) = (spec.resources.efas, claims::fewest_nics(spec));
    if let Some(path) = rails_of_efa(spec)
        && rails > efas.saturating_add(nics)
    {
        let counted = |count: u32, noun| pluralized(count.into(), noun);
        let problem = match nics {
            0 => format!(
                "every rail needs an EFA device: a worker has {}, but `spec.resources.efas` is {efas}. Request \
                 {}, or use fewer rails",
                counted(rails, "rail"),
                counted(rails, "device")
            ),
            nics => format!(
                "every rail needs an EFA device: a worker has {}, but claims only {}. Request more, or use fewer \
                 rails",
                counted(rails, "rail"),
                counted(nics, "NIC")
            ),
        };
        report.add(path, problem);
    }
    check_nics(spec, rails, report);
    if !spec.placement.align.is_none() && !spec.transports().any(TransportSpec::uses_nics) {
        report.add("spec.placement.align", NO_NICS);
    }
}

/// Path of the rails of the first transport that uses EFA; `None` if none does.
fn rails_of_efa(spec: &BenchmarkRunSpec) -> Option<String> {
    if spec.transport.uses_efa() {
        return Some("spec.transport.libfabric.rails".to_owned());
    }
    let uses_efa =
        |transport: &Option<TransportSpec>| transport.as_ref().is_some_and(TransportSpec::uses_efa);
    let mut variants = spec.variants.iter();
    let index = variants.position(|variant| uses_efa(&variant.transport))?;
    Some(format!("spec.variants[{index}].transport.libfabric.rails"))
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
        let gpus = spec.resources.gpus.saturating_add(claims::fewest_gpus(spec));
        if *gpu >= gpus {
            let requested = match gpus == spec.resources.gpus {
                true => format!("`spec.resources.gpus` is {gpus}"),
                false => format!("a worker has {}", pluralized(gpus.into(), "GPU")),
            };
            report.add(
                path,
                format!(
                    "GPU {gpu} does not exist in the container: {requested}, and \
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
                "{nics} {named} named, but there {are} {rails} (the rails of the transport for each GPU). Name one \
                 NIC for each rail, or none",
                nics = pluralized(nics.len() as u64, "NIC"),
                named = if nics.len() == 1 { "is" } else { "are" },
                are = if rails == 1 { "is" } else { "are" },
                rails = pluralized(rails.into(), "rail")
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
