//! Replaces a scenario that lists several counts, of workers or of consumers, with one scenario for each count.

use crds::assignment::Workload;
use crds::v1alpha1::Scenario;

use super::names::{MAX_SCENARIO_NAME, is_label};
use super::reporter::Reporter;
use super::validated::ValidatedScenario;

/// Name of the scenario with `count`, if the scenario `name` lists several counts.
fn name_with(name: &str, count: u32) -> String {
    format!("{name}-{count}")
}

/// Reports a name that is too long to be followed by the largest of `counts`.
pub(crate) fn check_length(path: &str, name: &str, counts: &[u32], report: &mut Reporter) {
    let largest = counts.iter().max().filter(|_| counts.len() > 1);
    let Some(longest) = largest.map(|count| name_with(name, *count)) else {
        return;
    };
    if !is_label(&longest, MAX_SCENARIO_NAME) {
        let max = MAX_SCENARIO_NAME - (longest.len() - name.len());
        let name = longest;
        report.add(
            format!("{path}.name"),
            format!(
                "with the largest count, the scenario name would be `{name}`, which is longer than \
                 {MAX_SCENARIO_NAME} characters. Use a name of at most {max} characters"
            ),
        );
    }
}

/// Reports two scenarios with the same name, if one of them has this name because a count was appended.
pub(crate) fn check_name(
    one: &ValidatedScenario,
    other: &ValidatedScenario,
    spec: &[Scenario],
    report: &mut Reporter,
) {
    let has_suffix = |scenario: &ValidatedScenario| {
        let given = spec.get(scenario.index);
        given.is_some_and(|given| given.name != scenario.assignment.name)
    };
    // Two scenarios of the spec with the same name have already been reported.
    let (suffixed, taken) = match (has_suffix(one), has_suffix(other)) {
        (true, _) => (one, other),
        (false, true) => (other, one),
        (false, false) => return,
    };
    report.add(
        format!("spec.scenarios[{}].name", suffixed.index),
        format!(
            "the scenario for a count would be named `{}`, like spec.scenarios[{}]: each count in a list becomes a \
             scenario named NAME-COUNT. Use another name",
            one.assignment.name, taken.index
        ),
    );
}

/// One scenario for each of `counts`, in this order. `set` changes the workload to the count with an index.
pub(crate) fn expand(
    scenario: ValidatedScenario,
    counts: &[u32],
    set: impl Fn(&mut Workload, usize),
) -> Vec<ValidatedScenario> {
    if counts.len() < 2 {
        return vec![scenario];
    }
    let with = |(index, count): (usize, &u32)| {
        let mut expanded = scenario.clone();
        expanded.several_counts = Some(scenario.assignment.name.clone());
        expanded.assignment.name = name_with(&scenario.assignment.name, *count);
        set(&mut expanded.assignment.workload, index);
        expanded
    };
    counts.iter().enumerate().map(with).collect()
}
