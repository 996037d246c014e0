//! Verdict tables and expectations.

use campaign::format;
use crds::v1alpha1::ExpectationOutcome;
use maud::{Markup, html};

use crate::report::comparison::{BaselineText, ComparisonText, ResultClass};
use crate::report::{Report, labels};

/// CSS class of a result.
pub(super) fn css_class(class: ResultClass) -> &'static str {
    match class {
        ResultClass::Improved => "better",
        ResultClass::Regressed => "worse",
        ResultClass::NoChange => "same",
        ResultClass::Inconclusive => "open",
        ResultClass::NotApplicable => "na",
        ResultClass::NotEngaged => "not-engaged",
        ResultClass::Suspect => "suspect",
        ResultClass::Invalid => "invalid",
    }
}

/// Table cell with the label, change and reason of a comparison.
pub(super) fn cell(text: Option<&ComparisonText>) -> Markup {
    let Some(text) = text else {
        return html! { td.na { "not compared" } };
    };
    html! {
        td class=(css_class(text.class)) {
            span.label { (text.label) }
            @if let Some(change) = &text.change { " " span.change { (change) } }
            @if let Some(reason) = &text.reason { " " span.reason { (reason) } }
        }
    }
}

/// Section with a verdict table for each scenario: one row for each arm, one column for each size.
pub(super) fn verdicts(report: &Report<'_>) -> Markup {
    let plan = report.plan;
    html! {
        section #verdicts aria-labelledby="verdicts-title" {
            h2 #verdicts-title { "Verdicts" }
            @for (index, scenario) in plan.scenarios.iter().enumerate() {
                @let title = labels::metric_title(&scenario.assignment.workload, scenario.primary);
                @let label = format!("Verdicts for {}", scenario.assignment.name);
                h3 { a href={ "#scenario-" (index) } { (scenario.assignment.name) } ": " (title) }
                p.note {
                    "Change from " (arm_name(report, plan.baseline)) " [simultaneous " (plan.sampling.confidence_percent)
                    " % interval], margin " (plan.sampling.margin_percent) " %"
                }
                div.scroll tabindex="0" role="region" aria-label=(label) {
                    table.matrix {
                        thead {
                            tr {
                                th scope="col" { "arm" }
                                @for size in &scenario.sizes { th scope="col" { (format::size(*size)) } }
                            }
                        }
                        tbody {
                            (baseline_row(report, index))
                            @for arm in compared_arms(report) {
                                tr {
                                    th scope="row" { (arm_name(report, arm)) }
                                    @for size in &scenario.sizes {
                                        (cell(comparison_text(report, index, *size, arm).as_ref()))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn baseline_row(report: &Report<'_>, index: usize) -> Markup {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return html! {};
    };
    html! {
        tr {
            th scope="row" { (arm_name(report, report.plan.baseline)) }
            @for size in &scenario.sizes {
                @let baseline = BaselineText::new(report, index, scenario, *size);
                @match &baseline {
                    BaselineText::Measured(value) => td.same { (value) },
                    BaselineText::Invalid(reason) => td.invalid {
                        span.label { "invalid" } " " span.reason { (reason) }
                    },
                    BaselineText::BelowResolution | BaselineText::NotMeasured => td.na { (baseline.line()) },
                }
            }
        }
    }
}

/// All arms except the baseline: variants, then control arms.
fn compared_arms(report: &Report<'_>) -> impl Iterator<Item = usize> {
    let baseline = report.plan.baseline;
    (0..report.plan.arms.len()).filter(move |arm| *arm != baseline)
}

/// Name of the arm with index `arm`.
pub(super) fn arm_name<'a>(report: &'a Report<'_>, arm: usize) -> &'a str {
    report.plan.arms.get(arm).map_or("", |arm| arm.name.as_str())
}

fn comparison_text(report: &Report<'_>, scenario: usize, size: u64, arm: usize) -> Option<ComparisonText> {
    let primary = report.plan.scenarios.get(scenario)?.primary;
    report
        .evaluation
        .comparisons
        .find(scenario, size, arm, primary)
        .map(|comparison| ComparisonText::with_emulation_mark(report, comparison))
}

/// Section with the outcome of each expectation.
pub(super) fn expectations(report: &Report<'_>) -> Markup {
    let answers = &report.evaluation.comparisons.expectations;
    html! {
        section #expectations aria-labelledby="expectations-title" {
            h2 #expectations-title { "Expectations" }
            @if answers.is_empty() {
                p { "The run has no expectations (spec.expectations)." }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Expectations" {
                    table {
                        thead { tr { th scope="col" { "expectation" } th scope="col" { "outcome" } th scope="col" { "reason" } } }
                        tbody {
                            @for answer in answers {
                                tr {
                                    td { (answer.text) }
                                    td class=(outcome_class(answer.outcome)) {
                                        span.label { (format!("{:?}", answer.outcome)) }
                                        @if answer.above_maximum { " " span.reason { "above the expected maximum" } }
                                    }
                                    td {
                                        @for size in &answer.sizes {
                                            div {
                                                (format::size(size.size_bytes)) ": " (size.reason)
                                                " (" (format!("{:?}", size.outcome)) ")"
                                            }
                                        }
                                        @if answer.sizes.is_empty() { (answer.reason) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn outcome_class(outcome: ExpectationOutcome) -> &'static str {
    match outcome {
        ExpectationOutcome::Met => "better",
        ExpectationOutcome::NotMet => "worse",
        ExpectationOutcome::Inconclusive => "open",
    }
}
