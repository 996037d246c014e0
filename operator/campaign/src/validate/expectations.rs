//! Validates expectations: the variants and scenarios that they name, their metrics, and the sizes that they select.

use crds::units::Size;
use crds::v1alpha1::{BenchmarkRunSpec, Change, Expectation};

use super::reporter::Reporter;
use super::scenarios::metric_fits;
use super::{ProblemKind, ValidatedScenario};

/// Validates every expectation of `spec`.
pub(super) fn check(spec: &BenchmarkRunSpec, scenarios: &[ValidatedScenario], report: &mut Reporter) {
    for (index, expectation) in spec.expectations.iter().enumerate() {
        let path = format!("spec.expectations[{index}]");
        check_variant(&path, spec, expectation, report);
        let scenario = scenarios
            .iter()
            .find(|scenario| scenario.assignment.name == expectation.scenario);
        let Some(scenario) = scenario else {
            let known = scenarios
                .iter()
                .map(|scenario| scenario.assignment.name.clone())
                .collect();
            let name = expectation.scenario.clone();
            let what = "a scenario";
            report.add(
                format!("{path}.scenario"),
                ProblemKind::UnknownName { name, what, known },
            );
            continue;
        };
        if !metric_fits(expectation.metric, &scenario.assignment.workload) {
            let metric = expectation.metric;
            report.add(
                format!("{path}.metric"),
                ProblemKind::metric_not_available(metric, &scenario.assignment.workload),
            );
        }
        check_decrease(&path, expectation, report);
        let range = expectation.sizes.unwrap_or_default();
        if !scenario.sizes.iter().any(|size| range.contains(Size(*size))) {
            report.add(
                format!("{path}.sizes"),
                ProblemKind::NoSizeSelected {
                    scenario: scenario.assignment.name.clone(),
                    sizes: scenario.sizes.iter().copied().map(Size).collect(),
                },
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
                ProblemKind::DecreaseTooLarge { percent },
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
        let name = expectation.variant.clone();
        let what = "a variant other than the baseline";
        report.add(
            format!("{path}.variant"),
            ProblemKind::UnknownName { name, what, known },
        );
    }
}
