//! Validates scenarios: sizes, iterations, durations, and the memory for messages in flight. Converts every workload of
//! the spec to the workload that the runner executes.

use std::collections::BTreeMap;

use crds::assignment::{ScenarioAssignment, Workload, pilot};
use crds::units::Size;
use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, ScenarioWorkload, SizeOperations};

use super::memory::bytes_per_process;
use super::metrics::metric_problem;
use super::reporter::Reporter;
use super::validated::ValidatedScenario;
use super::{durations, sweep};
use crate::workload::{Context, given, rules};

/// Maximum memory of a scenario in one instrument process. Each environment has its own process, so even below this
/// limit, a run may require a large node.
const MAX_PROCESS_BYTES: u64 = 16 << 30;

/// Applies the defaults to the scenarios of `spec` and preserves their order. Scenarios without a workload, which the
/// schema rejects, are omitted.
pub(super) fn expand(spec: &BenchmarkRunSpec, report: &mut Reporter) -> Vec<ValidatedScenario> {
    report.unique_names(
        "spec.scenarios",
        spec.scenarios.iter().map(|scenario| scenario.name.as_str()),
    );
    durations::check_min_window(spec, report);
    let calls_over_transport = spec.calls_over_transport();
    let mut scenarios = Vec::new();
    for (index, scenario) in spec.scenarios.iter().enumerate() {
        let Some(workload) = scenario.workload() else {
            continue;
        };
        let mut context = Context {
            path: &format!("spec.scenarios[{index}]"),
            field: workload.field(),
            scenario,
            min_window: spec.sampling.min_window.0,
            calls_over_transport,
            many_to_many: spec.placement.many_to_many(),
            report,
        };
        scenarios.extend(expand_one(spec, index, workload, &mut context));
    }
    sweep::check_names(&scenarios, &spec.scenarios, report);
    scenarios
}

/// The scenario that `context` contains with defaults applied or, if it has a sweep or lists several counts, one scenario for
/// each of them. `index` is its index in `spec`.
fn expand_one(
    spec: &BenchmarkRunSpec,
    index: usize,
    workload: ScenarioWorkload<'_>,
    context: &mut Context<'_>,
) -> Vec<ValidatedScenario> {
    let validated = apply_defaults(spec, index, workload, context);
    let scenario = context.scenario;
    let Some(sweep) = sweep::find(scenario) else {
        return given(workload).expand(validated, context);
    };
    sweep::check(context.path, &scenario.name, workload, sweep, context.report);
    sweep::expand(&validated, sweep, &scenario.operation_counts)
}

fn apply_defaults(
    spec: &BenchmarkRunSpec,
    index: usize,
    workload: ScenarioWorkload<'_>,
    context: &mut Context<'_>,
) -> ValidatedScenario {
    let (scenario, given) = (context.scenario, given(workload));
    let mut work = given.workload(context);
    let primary = scenario.primary_metric.unwrap_or(workload.default_metric());
    if let Some(problem) = metric_problem(primary, &work) {
        add(context, "primaryMetric", problem);
    }
    // The GPU of the first measuring thread holds the payload that does not use a transport.
    work.set_gpu((scenario.memory == MemoryKind::Cuda).then_some(spec.devices.gpu(0)));
    let sizes = given.valid_sizes(context);
    let assignment = ScenarioAssignment {
        name: scenario.name.clone(),
        memory: transport_memory(&work, context),
        target_memory: target_memory(&work, context),
        polling: scenario.polling,
        workload: work,
        max_size_bytes: sizes.iter().copied().max().unwrap_or(0),
    };
    let mut largest = assignment.clone();
    given.set_largest(&mut largest.workload, context);
    // Each worker allocates the memory of both sides' kinds. The threads of a segment use one kind each.
    let kinds = if largest.has_different_kinds() { 2 } else { 1 };
    let needed =
        bytes_per_process(&largest, spec.transport.rails(), context.many_to_many).saturating_mul(kinds);
    if needed > MAX_PROCESS_BYTES {
        let (needed, max) = (Size(needed), Size(MAX_PROCESS_BYTES));
        add(
            context,
            context.field,
            format!(
                "messages in flight need {needed} of memory in every instrument process, which may use \
                 at most {max}. Reduce `threads` or the largest size"
            ),
        );
    }
    let operation_counts = operation_counts(&assignment.workload, &sizes, context);
    ValidatedScenario {
        index,
        sweep: None,
        several_counts: None,
        sizes,
        primary,
        rate_format: workload.rate_format(),
        integrity: scenario.integrity && rules(&assignment.workload).has_integrity_pass(),
        assignment,
        operation_counts,
    }
}

/// Kind of the target's memory if it differs from the initiator's.
fn target_memory(work: &Workload, context: &mut Context<'_>) -> Option<MemoryKind> {
    let kind = context.scenario.target_memory?;
    if !rules(work).has_target_memory() {
        let message = format!(
            "the sides of `{}` cannot use different kinds of memory. Remove `targetMemory`",
            context.field
        );
        add(context, "targetMemory", message);
    }
    (kind != context.scenario.memory).then_some(kind)
}

/// Kind of the memory that is registered with the transport. If no arm sends its payload over a transport, the
/// transport need not support GPU memory.
fn transport_memory(work: &Workload, context: &Context<'_>) -> MemoryKind {
    match context.scenario.memory {
        MemoryKind::Cuda if work.uses_channels() && !context.calls_over_transport => MemoryKind::Heap,
        memory => memory,
    }
}

/// Operation counts in the spec. They replace those from the pilot, so there must be one for every size, or for
/// every rate of a sweep.
fn operation_counts(workload: &Workload, sizes: &[u64], context: &mut Context<'_>) -> BTreeMap<u64, u32> {
    let scenario = context.scenario;
    let given = scenario.operation_counts.iter();
    let counts: BTreeMap<u64, u32> = given.map(|count| (count.size.0, count.iterations)).collect();
    if counts.is_empty() {
        return counts;
    }
    if pilot::extent(workload).is_none() {
        add(
            context,
            "operationCounts",
            "a duration, or a `minWindow` of 0s, already fixes the length of the measurement. Remove \
             `operationCounts`",
        );
    }
    if sweep::find(scenario).is_none() {
        let counts = scenario.operation_counts.iter().enumerate();
        for (index, _) in counts.filter(|(_, count)| count.rate.is_some()) {
            let field = format!("operationCounts[{index}].rate");
            add(
                context,
                &field,
                "only a scenario with `load.sweep` has an operation count for each rate. Remove `rate`",
            );
        }
    }
    let rates = sweep::find(scenario).map(|sweep| sweep.rates().collect::<Vec<u32>>());
    let points: Vec<(u64, Option<u32>)> = match &rates {
        Some(rates) => {
            let size_points = |size: &u64| rates.iter().map(|rate| (*size, Some(*rate))).collect::<Vec<_>>();
            sizes.iter().flat_map(size_points).collect()
        }
        None => sizes.iter().map(|size| (*size, None)).collect(),
    };
    let rate_of = |count: &SizeOperations| rates.as_ref().and(count.rate);
    let given = || {
        scenario
            .operation_counts
            .iter()
            .map(|count| (count.size.0, rate_of(count)))
    };
    if given().count() != points.len() || !points.iter().all(|point| given().any(|one| one == *point)) {
        let message = match rates {
            Some(rates) => format!(
                "the list must contain the size of the sweep exactly once for each rate: {}",
                rates
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            None => format!(
                "the list must contain every size of the scenario exactly once: {}",
                sizes
                    .iter()
                    .map(|size| Size(*size).to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        add(context, "operationCounts", message);
    }
    counts
}

/// Reports a problem with `field` of the scenario.
fn add(context: &mut Context<'_>, field: &str, message: impl Into<String>) {
    context.report.add(format!("{}.{field}", context.path), message);
}
