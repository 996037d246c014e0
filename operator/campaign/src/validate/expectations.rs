//! Validates expectations: the variants and scenarios that they name, their metrics, and the sizes that they select.

use crds::units::Size;
use crds::v1alpha1::{BenchmarkRunSpec, Change, Expectation};

use super::metrics::metric_problem;
use super::reporter::Reporter;
use super::validated::ValidatedScenario;

/// Validates every expectation of `spec`.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    for (index, expectation) in spec.expectations.iter().enumerate() {
        let path = format!("spec.expectations[{index}]");
        check_variant(&path, spec, expectation, report);
        let scenario = scenarios
            .iter()
            .find(|scenario| scenario.assignment.name == expectation.scenario);
        let Some(scenario) = scenario else {
            let known: Vec<_> = scenarios
                .iter()
                .map(|scenario| scenario.assignment.name.clone())
                .collect();
            report.unknown_name(
                &format!("{path}.scenario"),
                &expectation.scenario,
                "a scenario",
                &known,
            );
            continue;
        };
        if let Some(problem) = metric_problem(expectation.metric, &scenario.assignment.workload) {
            report.add(format!("{path}.metric"), problem);
        }
        check_decrease(&path, expectation, report);
        let range = expectation.sizes.unwrap_or_default();
        if !scenario.sizes.iter().any(|size| range.contains(Size(*size))) {
            let name = &scenario.assignment.name;
            let sizes: Vec<_> = scenario
                .sizes
                .iter()
                .map(|size| Size(*size).to_string())
                .collect();
            let sizes = sizes.join(", ");
            report.add(
                format!("{path}.sizes"),
                format!("the range contains no size of scenario \"{name}\" ({sizes}). Widen the range"),
            );
        }
    }
}

/// Checks that an expected decrease is below 100 percent: a ratio of 0 or less has no logarithm.
fn check_decrease(path: &str, expectation: &Expectation, report: &mut Reporter) {
    let Some(Change { min, max }) = expectation.decrease_percent else {
        return;
    };
    for (field, percent) in [("min", Some(min)), ("max", max)] {
        if let Some(percent) = percent.filter(|percent| *percent >= 100) {
            report.add(
                format!("{path}.decreasePercent.{field}"),
                format!("a decrease of {percent} percent is not possible: use a value below 100"),
            );
        }
    }
}

fn check_variant(path: &str, spec: &BenchmarkRunSpec, expectation: &Expectation, report: &mut Reporter) {
    let others = spec
        .variants
        .iter()
        .filter(|variant| variant.name != spec.baseline);
    let known: Vec<_> = others.map(|variant| variant.name.clone()).collect();
    if !known.contains(&expectation.variant) {
        report.unknown_name(
            &format!("{path}.variant"),
            &expectation.variant,
            "a variant other than the baseline",
            &known,
        );
    }
}
