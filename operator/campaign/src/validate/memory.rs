//! Computes the memory of a process, and validates memory kinds: huge pages and GPUs must be requested, and messages in
//! device memory cannot be injected.

use crds::assignment::ScenarioAssignment;
use crds::assignment::memory::scenarios_by_area;
use crds::units::Size;
use crds::v1alpha1::{BenchmarkRunSpec, ManyToMany, MemoryKind};

use super::claims;
use super::reporter::Reporter;
use super::validated::{ValidatedScenario, ValidatedVariant};
use crate::posting::Posting;

const HUGE_PAGE_BYTES: u64 = 2 << 20;

/// Validates the resources that scenario memory needs.
pub(super) fn check(
    spec: &BenchmarkRunSpec,
    variants: &[ValidatedVariant],
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    check_huge_pages(spec, variants, scenarios, report);
    for scenario in scenarios {
        if spec.resources.gpus == 0 && claims::fewest_gpus(spec) == 0 && scenario.assignment.needs_gpu() {
            let path = field_with(scenario, MemoryKind::Cuda);
            let path = path.unwrap_or_else(|| format!("spec.scenarios[{}].memory", scenario.index));
            report.add(
                path,
                "`Cuda` memory needs a GPU, but `spec.resources.gpus` is 0. Request one, or use `Heap`",
            );
        }
        let Some(path) = field_with(scenario, MemoryKind::Cuda) else {
            continue;
        };
        for variant in variants {
            if let Some(message) = device_memory_problem(spec.transport.rails(), variant, scenario) {
                report.add(&path, message);
            }
        }
    }
}

/// Path of the field that selects `kind` for one of the sides or for some threads of `scenario`; `None` if it is not used.
pub(super) fn field_with(scenario: &ValidatedScenario, kind: MemoryKind) -> Option<String> {
    let [initiator, target] = scenario.assignment.memory_kinds();
    let name = match kind {
        _ if initiator == kind => "memory",
        _ if target == kind => "targetMemory",
        _ if scenario.assignment.uses(kind) => "segmentTransfer.useVram",
        _ => return None,
    };
    Some(format!("spec.scenarios[{}].{name}", scenario.index))
}

fn device_memory_problem(
    rails: u32,
    variant: &ValidatedVariant,
    scenario: &ValidatedScenario,
) -> Option<String> {
    let max = variant.tuning.inject_max_bytes?;
    let injected = scenario.sizes.iter().filter(|size| {
        let posting = Posting::new(variant.tuning, scenario.burst(), **size, rails);
        posting.injected.0 || posting.injected.1
    });
    let size = injected.min()?;
    Some(format!(
        "messages in GPU memory (`Cuda`) cannot be injected, but variant \"{variant}\" injects messages of \
         {size}. Use `Heap` memory or sizes above {max}, or remove the variant's `inject`",
        variant = variant.name,
        size = Size(*size),
        max = Size(max)
    ))
}

/// Checks that a worker has enough huge pages. Every instrument process of the worker holds its memory even while it is
/// idle, so the requirements of all processes add up.
fn check_huge_pages(
    spec: &BenchmarkRunSpec,
    variants: &[ValidatedVariant],
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    let path = "spec.resources.hugepages2Mi";
    let given = spec.resources.hugepages_2mi.unwrap_or_default();
    if !given.bytes().is_multiple_of(HUGE_PAGE_BYTES) {
        report.add(path, format!("{given} is not a multiple of 2Mi. Round it up"));
    }
    let processes = processes_of_a_worker(spec, variants);
    let rails = spec.transport.rails();
    let many_to_many = spec.placement.many_to_many();
    let assignments = scenarios.iter().map(|scenario| &scenario.assignment);
    // The areas exist at the same time.
    let largest = scenarios_by_area(assignments, MemoryKind::HugePages, rails.into()).map(|sharing| {
        let needs = sharing.into_iter().map(|scenario| {
            let threads = threads_per_process(scenario, many_to_many);
            let thread_bytes = bytes_per_process(scenario, rails, many_to_many) / threads.max(1);
            let needed = thread_bytes
                .next_multiple_of(HUGE_PAGE_BYTES)
                .saturating_mul(threads * processes);
            (needed, &scenario.name)
        });
        needs.max()
    });
    let needed = largest.iter().flatten().map(|(needed, _)| needed).sum();
    if let Some((_, scenario)) = largest.into_iter().flatten().max()
        && needed > given.bytes()
    {
        report.add(
            path,
            format!(
                "{given} of huge pages is not enough: {processes} instrument processes need {needed} for \
                 scenario \"{scenario}\". Request {needed} or more",
                needed = Size(needed)
            ),
        );
    }
}

/// Number of measuring threads of `scenario` in one instrument process. Each flow has separate threads.
fn threads_per_process(scenario: &ScenarioAssignment, many_to_many: Option<ManyToMany>) -> u64 {
    let flows = many_to_many.map_or(1, ManyToMany::max_flows_of_a_worker);
    u64::from(scenario.workload.threads()) * u64::from(flows)
}

/// Memory of `scenario` in one instrument process, in bytes: a source area and a target area for each thread.
pub(super) fn bytes_per_process(
    scenario: &ScenarioAssignment,
    rails: u32,
    many_to_many: Option<ManyToMany>,
) -> u64 {
    let threads = threads_per_process(scenario, many_to_many);
    scenario.area_bytes(rails.into()).saturating_mul(2 * threads)
}

/// Maximum number of instrument processes of one worker: one for each environment, and a second one for the baseline if
/// environments are compared and a control is requested.
fn processes_of_a_worker(spec: &BenchmarkRunSpec, variants: &[ValidatedVariant]) -> u64 {
    let processes = variants.iter().map(|first| {
        let gang = variants.iter().filter(|variant| variant.shares_pods(first));
        let mut environments: Vec<_> = Vec::new();
        for variant in gang {
            if !environments.contains(&&variant.process) {
                environments.push(&variant.process);
            }
        }
        environments.len()
    });
    let maximum = processes.max().unwrap_or(1);
    (maximum + usize::from(maximum > 1 && spec.sampling.control)) as u64
}
