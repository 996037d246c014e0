//! The verdict matrix and the expectations.

use crds::assignment::Workload;
use crds::v1alpha1::ExpectationOutcome;
use maud::{Markup, html};

use crate::campaign::format;
use crate::report::Report;
use crate::report::words::{self, Answer, Baseline, Tone};

/// Class of what has this tone.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Same => "same",
        Tone::Open => "open",
        Tone::NotApplicable => "na",
        Tone::NotEngaged => "not-engaged",
        Tone::Invalid => "invalid",
    }
}

/// A cell with an answer: the word, the change, the reason.
pub(super) fn cell(answer: Option<&Answer>) -> Markup {
    let Some(answer) = answer else {
        return html! { td.na { "not compared" } };
    };
    html! {
        td class=(class(answer.tone)) {
            span.word { (answer.word) }
            @if let Some(change) = &answer.change { " " span.change { (change) } }
            @if let Some(reason) = &answer.reason { " " span.reason { (reason) } }
        }
    }
}

/// Every verdict: a table for each scenario, variants by sizes.
pub(super) fn matrix(report: &Report<'_>) -> Markup {
    let plan = report.plan;
    html! {
        section #verdicts aria-labelledby="verdicts-title" {
            h2 #verdicts-title { "Verdicts" }
            @for (index, scenario) in plan.scenarios.iter().enumerate() {
                @let ping_pong = matches!(scenario.assignment.workload, Workload::PingPong(_));
                @let title = words::metric_title(ping_pong, scenario.primary);
                @let label = format!("Verdicts of {}", scenario.assignment.name);
                h3 { a href={ "#scenario-" (index) } { (scenario.assignment.name) } ": " (title) }
                p.note {
                    "Change against " (arm_name(report, plan.baseline)) " [interval; "
                    (plan.sampling.confidence_percent) " % for the whole table], margin " (plan.sampling.margin_percent) " %"
                }
                div.scroll tabindex="0" role="region" aria-label=(label) {
                    table.matrix {
                        thead {
                            tr {
                                th scope="col" { "variant" }
                                @for size in &scenario.sizes { th scope="col" { (format::size(*size)) } }
                            }
                        }
                        tbody {
                            (baseline_row(report, index))
                            @for arm in shown_arms(report) {
                                tr {
                                    th scope="row" { (arm_name(report, arm)) }
                                    @for size in &scenario.sizes {
                                        (cell(answer(report, index, *size, arm).as_ref()))
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
                @let baseline = words::baseline(report, index, scenario, *size);
                @match &baseline {
                    Baseline::Measured(figure) => td.same { (figure) },
                    Baseline::Invalid(reason) => td.invalid {
                        span.word { "invalid" } " " span.reason { (reason) }
                    },
                    Baseline::NotYet => td.na { (baseline.line()) },
                }
            }
        }
    }
}

/// All arms but the baseline: variants, then control arms.
fn shown_arms(report: &Report<'_>) -> impl Iterator<Item = usize> {
    let baseline = report.plan.baseline;
    (0..report.plan.arms.len()).filter(move |arm| *arm != baseline)
}

pub(super) fn arm_name<'a>(report: &'a Report<'_>, arm: usize) -> &'a str {
    report.plan.arms.get(arm).map_or("", |arm| arm.name.as_str())
}

fn answer(report: &Report<'_>, scenario: usize, size: u64, arm: usize) -> Option<Answer> {
    let primary = report.plan.scenarios.get(scenario)?.primary;
    report
        .evaluation
        .comparisons
        .find(scenario, size, arm, primary)
        .map(words::answer)
}

/// What became of each expectation.
pub(super) fn expectations(report: &Report<'_>) -> Markup {
    let answers = &report.evaluation.comparisons.expectations;
    html! {
        section #expectations aria-labelledby="expectations-title" {
            h2 #expectations-title { "Expectations" }
            @if answers.is_empty() {
                p { "The run states none (spec.expectations)." }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Expectations" {
                    table {
                        thead { tr { th scope="col" { "expected" } th scope="col" { "outcome" } th scope="col" { "why" } } }
                        tbody {
                            @for answer in answers {
                                tr {
                                    td { (answer.text) }
                                    td class=(outcome_class(answer.outcome)) {
                                        span.word { (format!("{:?}", answer.outcome)) }
                                        @if answer.above_maximum { " " span.reason { "more than expected" } }
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
