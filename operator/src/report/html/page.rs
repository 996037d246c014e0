//! The page around the sections.

use crds::v1alpha1::Verdict;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{answers, environment};
use crate::campaign::RunOutcome;
use crate::report::Report;
use crate::report::words::{self, Tone};

const STYLE: &str = include_str!("style.css");

pub(super) fn page(report: &Report<'_>, scenarios: Vec<Markup>) -> Markup {
    let name = &report.plan.run;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (name) ": fabricbench" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#verdicts" { "To the verdicts" }
                (head(report))
                main {
                    (answers::matrix(report))
                    (answers::expectations(report))
                    (warnings(report))
                    @for scenario in scenarios { (scenario) }
                    (environment::cold(report))
                    (environment::environment(report))
                    (method(report))
                }
            }
        }
    }
}

fn head(report: &Report<'_>) -> Markup {
    let summary = &report.evaluation.summary;
    let (tone, overall) = match report.evaluation.outcome() {
        RunOutcome::Passed => words::passed(report),
        RunOutcome::Missed if regressed(report) => (
            Tone::Worse,
            "Complete; a variant is worse than the baseline.".to_owned(),
        ),
        RunOutcome::Missed => (Tone::Worse, "Complete; an expectation was not met.".to_owned()),
        RunOutcome::Untrusted => (
            Tone::Invalid,
            "Complete, but some numbers cannot be trusted: see the cells marked invalid.".to_owned(),
        ),
        RunOutcome::NothingMeasured => (
            Tone::Invalid,
            "Nothing was measured: every case failed.".to_owned(),
        ),
        RunOutcome::Incomplete => (
            Tone::Invalid,
            "Not complete: what is here counts, the rest is missing.".to_owned(),
        ),
    };
    html! {
        header {
            h1 { (report.plan.run) }
            p.setting { (words::transport(report)) " · " (words::setting(report).join(" · ")) }
            p class={ "overall " (answers::class(tone)) } { (overall) }
            dl {
                dt { "Verdict" } dd { (report.evaluation.comparisons.verdict) }
                dt { "Fabric" } dd { (words::fabric(summary.fabric.as_ref())) }
                dt { "Noise floor" }
                dd { (words::noise(report, None)) }
                dt { "Blocks" } dd { (summary.blocks_done) " of " (summary.blocks_total) " measured" }
                dt { "Started" } dd { (summary.environment.started_at.as_deref().unwrap_or("not yet")) }
            }
            nav aria-label="Sections" {
                a href="#verdicts" { "Verdicts" }
                a href="#expectations" { "Expectations" }
                @for (index, scenario) in report.plan.scenarios.iter().enumerate() {
                    a href={ "#scenario-" (index) } { (scenario.assignment.name) }
                }
                a href="#environment" { "Environment" }
                a href="#method" { "Method" }
            }
        }
    }
}

fn regressed(report: &Report<'_>) -> bool {
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
            h2 #method-title { "How to read this" }
            p {
                "Every round measures every arm at every size, in processes started anew; within a block the arms run one after "
                "the other in an order drawn from the seed (" (sampling.seed) "). One number a round, the median over pairs of "
                "the logarithm of arm over baseline, goes into an exact signed-rank interval. The intervals of a scenario's "
                "primary metric hold together with " (sampling.confidence_percent) " % confidence."
            }
            ul {
                li { b { "Improved" } " / " b { "Regressed" } ": the whole interval lies beyond the margin of " (sampling.margin_percent) " %." }
                li { b { "NoChange" } ": the whole interval lies inside the margin, so equivalence is shown." }
                li { b { "Inconclusive" } ": everything else, with the number of rounds that would settle it." }
                li { b { "n/a" } ": the arm does there what the baseline does; its interval is noise and checks the method." }
                li { b { "NotEngaged" } ": the optimization was asked for and did not take part, so there is nothing to judge." }
                li { b { "invalid" } ": the numbers cannot be trusted, for the reason given." }
            }
            p {
                "Optimizations are Confirmed by something that a request alone cannot cause, RequestedOnly where the provider "
                "gives no sign. A fabric is verified when byte counters of its interfaces cover the payload."
            }
            p.note { "Plan " code { (report.plan_hash) } ", runner " (report.evaluation.summary.environment.runner_versions.join(", ")) }
        }
    }
}
