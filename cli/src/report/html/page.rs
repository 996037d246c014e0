//! The page: header, sections and explanation of the method.

use campaign::RunOutcome;
use crds::v1alpha1::Verdict;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::isolated::capitalized;
use super::{environment, verdicts};
use crate::report::comparison::ResultClass;
use crate::report::{Report, isolated, noise, overview, stopping};

const STYLE: &str = include_str!("style.css");

/// Renders the `head` element of a page, which contains the style sheet.
pub fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// Renders the whole page with the given sections: load sweeps, scaling of parameter serving, and scenarios.
pub(super) fn page(report: &Report<'_>, [sweeps, scaling]: [Markup; 2], scenarios: Vec<Markup>) -> Markup {
    let name = &report.plan.run;
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{name}: fabricbench")))
            body {
                a.skip href="#verdicts" { "Skip to the verdicts" }
                (header(report))
                main {
                    (verdicts::verdicts(report))
                    (verdicts::expectations(report))
                    (warnings(report))
                    (sweeps)
                    (scaling)
                    @for scenario in scenarios { (scenario) }
                    (environment::setup_costs(report))
                    (environment::environment(report))
                    (method(report))
                }
            }
        }
    }
}

fn header(report: &Report<'_>) -> Markup {
    let summary = &report.evaluation.summary;
    let (class, outcome) = match report.evaluation.outcome() {
        RunOutcome::Passed => overview::passed_text(report),
        RunOutcome::Missed if has_regression(report) => (
            ResultClass::Regressed,
            "Complete: a variant is worse than the baseline.".to_owned(),
        ),
        RunOutcome::Missed => (
            ResultClass::Regressed,
            "Complete: an expectation was not met.".to_owned(),
        ),
        RunOutcome::Suspect => (
            ResultClass::Suspect,
            "Complete, but a control shows a change, so the verdicts at that size are withheld. Repeat the run."
                .to_owned(),
        ),
        RunOutcome::Untrusted => (
            ResultClass::Invalid,
            report.evaluation.changed_records.clone().unwrap_or_else(|| {
                "Complete, but some results cannot be trusted: see the cells marked invalid.".to_owned()
            }),
        ),
        RunOutcome::NothingMeasured => (
            ResultClass::Invalid,
            "Nothing was measured: every case failed.".to_owned(),
        ),
        RunOutcome::Incomplete => (
            ResultClass::Invalid,
            "Incomplete: some blocks were not measured. The report covers only the measured blocks."
                .to_owned(),
        ),
    };
    html! {
        header {
            h1 { (report.plan.run) }
            p.settings { (overview::transport(report)) " · " (overview::settings(report).join(" · ")) }
            p class={ "overall " (verdicts::css_class(class)) } { (outcome) }
            @if let Some(noise) = noise::above_margin(report) {
                p class={ "overall " (verdicts::css_class(ResultClass::Suspect)) } { "Noisy: " (noise) "." }
            }
            dl {
                dt { "Verdict" } dd { (report.evaluation.comparisons.verdict) }
                dt { "Fabric" } dd { (overview::fabric(summary.fabric.as_ref())) }
                dt { "Noise floor" }
                dd { (noise::floor(report, None)) }
                @for (heading, counts) in isolated::run_lines(report) {
                    dt { (capitalized(heading)) } dd { (counts) }
                }
                @if let Some(ended) = stopping::ended_text(report) { dt { "Stopping" } dd { (ended) } }
                dt { "Blocks" } dd { (summary.blocks_done) " of " (summary.blocks_total) " measured" }
                dt { "Started" } dd { (summary.environment.started_at.as_deref().unwrap_or("not started")) }
            }
            nav aria-label="Sections" {
                a href="#verdicts" { "Verdicts" }
                a href="#expectations" { "Expectations" }
                @if !summary.sweeps.is_empty() { a href="#sweeps" { "Load sweeps" } }
                @for (index, scenario) in report.plan.scenarios.iter().enumerate() {
                    a href={ "#scenario-" (index) } { (scenario.assignment.name) }
                }
                a href="#environment" { "Environment" }
                a href="#method" { "Method" }
            }
        }
    }
}

fn has_regression(report: &Report<'_>) -> bool {
    let mut primary = report.evaluation.comparisons.primary();
    primary.any(|comparison| comparison.verdict == Some(Verdict::Regressed))
}

fn warnings(report: &Report<'_>) -> Markup {
    let warnings = &report.evaluation.summary.warnings;
    html! {
        section #warnings aria-labelledby="warnings-title" {
            h2 #warnings-title { "Warnings" }
            @if warnings.is_empty() {
                p { "None." }
            } @else {
                ul { @for warning in warnings { li { (warning) } } }
            }
        }
    }
}

fn method(report: &Report<'_>) -> Markup {
    let sampling = &report.plan.sampling;
    html! {
        section #method aria-labelledby="method-title" {
            h2 #method-title { "Method and legend" }
            p {
                "Every round starts new processes and measures every arm at every size. Within a block, the arms run "
                "one after another, in an order derived from the seed (" (report.plan.seed) "). Each round yields one value: "
                "the median over its pairs of ln(arm / baseline). The interval is the exact signed-rank interval of "
                "these values. All intervals of a scenario's primary metric hold simultaneously with "
                (sampling.confidence_percent) " % confidence."
            }
            ul {
                li { b { "Improved" } " / " b { "Regressed" } ": the whole interval is outside the margin of " (sampling.margin_percent) " %, on the better or the worse side." }
                li { b { "NoChange" } ": the whole interval is inside the margin, which shows equivalence." }
                li { b { "Inconclusive" } ": any other interval. The cell shows the estimated number of rounds that a verdict needs, or why more rounds do not help." }
                li { b { "n/a" } ": no optimization of the arm applies. If the arm is identical to the baseline, its interval shows only noise and serves as a control." }
                li { b { "NotEngaged" } ": the optimization was requested but did not take effect, so there is no verdict." }
                li { b { "suspect" } ": a control, which is identical to the baseline, shows a change at this size. Repeat the run." }
                li { b { "invalid" } ": the results cannot be trusted, for the reason given." }
            }
            p {
                "An optimization is Confirmed if there is evidence, beyond the request itself, that it took effect. "
                "It is RequestedOnly if the provider gives no such evidence. The fabric is verified if the byte counters of its interfaces account "
                "for the payload."
            }
            p.note { "Plan " code { (report.plan.hash()) } ", runner " (report.evaluation.summary.environment.runner_versions.join(", ")) }
        }
    }
}
