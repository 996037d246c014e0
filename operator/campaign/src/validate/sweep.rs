//! Expands a scenario with a load sweep into one scenario for each rate.

use crds::v1alpha1::{Load, Scenario, ScenarioWorkload, SizeOperations, Sweep};

use super::counts;
use super::names::{MAX_SCENARIO_NAME, is_label};
use super::reporter::Reporter;
use super::validated::ValidatedScenario;

/// The sweep of `scenario`, if it has one.
pub(super) fn find(scenario: &Scenario) -> Option<Sweep> {
    match scenario.workload()?.load()? {
        Load::Sweep(sweep) => Some(sweep),
        Load::OpenLoop(_) => None,
    }
}

/// Checks `sweep`, which belongs to the workload of the scenario with this name at `path`.
pub(super) fn check(
    path: &str,
    name: &str,
    workload: ScenarioWorkload<'_>,
    sweep: Sweep,
    report: &mut Reporter,
) {
    let (field, sizes) = (workload.field(), workload.sizes().len());
    if sizes > 1 {
        let list = workload.sizes_field();
        report.add(
            format!("{path}.{field}.{list}"),
            format!(
                "a sweep varies the rate at one size or payload, but the list has {sizes}. Keep one of them, \
                 and add a scenario for each of the others"
            ),
        );
    }
    if let Some(rate) = repeated_rate(sweep) {
        report.add(
            format!("{path}.{field}.load.sweep.steps"),
            format!(
                "{steps} rates from {from} to {to} contain {rate} twice, because rates are whole numbers. \
                 Use fewer steps, or a wider range",
                steps = sweep.steps,
                from = sweep.from,
                to = sweep.to
            ),
        );
    }
    let longest = name_at(name, sweep.to);
    if !is_label(&longest, MAX_SCENARIO_NAME) {
        let max = MAX_SCENARIO_NAME - (longest.len() - name.len());
        let name = longest;
        report.add(
            format!("{path}.name"),
            format!(
                "the scenario name for the highest rate would be `{name}`, which is longer than \
                 {MAX_SCENARIO_NAME} characters. Use a name of at most {max} characters"
            ),
        );
    }
}

/// A rate that occurs twice after rounding.
fn repeated_rate(sweep: Sweep) -> Option<u32> {
    let rates: Vec<u32> = sweep.rates().collect();
    rates
        .windows(2)
        .find_map(|pair| (pair.first() == pair.last()).then_some(pair.first().copied()))
        .flatten()
}

/// Name of the scenario that measures one rate of the sweep `name`.
fn name_at(name: &str, rate: u32) -> String {
    format!("{name}-{rate}")
}

/// The scenarios that measure the rates of `sweep`, in ascending order. `operation_counts` are the counts in the spec.
pub(super) fn expand(
    scenario: &ValidatedScenario,
    sweep: Sweep,
    operation_counts: &[SizeOperations],
) -> Vec<ValidatedScenario> {
    let scenario_at = |rate: u32| {
        let mut expanded = scenario.clone();
        expanded.assignment.name = name_at(&scenario.assignment.name, rate);
        expanded.assignment.workload.set_open_loop(sweep.at(rate));
        expanded.sweep = Some(scenario.assignment.name.clone());
        let rate_counts = operation_counts.iter().filter(|count| count.rate == Some(rate));
        expanded.operation_counts = rate_counts
            .map(|count| (count.size.0, count.iterations))
            .collect();
        expanded
    };
    sweep.rates().map(scenario_at).collect()
}

/// Reports every rate of a sweep whose scenario has the same name as another scenario.
///
/// The names of scenarios with a count of workers or consumers are checked in the same way.
pub(super) fn check_names(scenarios: &[ValidatedScenario], spec: &[Scenario], report: &mut Reporter) {
    for (position, scenario) in scenarios.iter().enumerate() {
        let name = &scenario.assignment.name;
        let earlier = scenarios.iter().take(position);
        let same = earlier.filter(|other| other.assignment.name == *name && other.index != scenario.index);
        for other in same {
            // Two scenarios of the spec with the same name have already been reported.
            let sweep = [scenario, other].into_iter().find(|one| one.sweep.is_some());
            let Some(sweep) = sweep else {
                counts::check_name(scenario, other, spec, report);
                continue;
            };
            let taken = if sweep.index == scenario.index {
                other
            } else {
                scenario
            };
            report.add(
                format!("spec.scenarios[{}].name", sweep.index),
                format!(
                    "the scenario for a rate would be named `{name}`, like spec.scenarios[{}]: each rate becomes a \
                     scenario named NAME-RATE. Use another name",
                    taken.index
                ),
            );
        }
    }
}
