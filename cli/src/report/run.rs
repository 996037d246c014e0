//! Document of a run.

mod comparison;
mod details;
mod differences;
mod environment;
mod evidence;
mod factors;
mod gate;
pub(super) mod isolated;
mod lost_rounds;
mod noise;
mod observations;
mod overview;
mod plots;
mod results;
mod scenario;
mod serving;
pub(super) mod settings;
pub(super) mod stopping;
mod sweeps;

use campaign::RunOutcome;
use crds::v1alpha1::{ExpectationOutcome, Verdict};

use super::document::{
    Banner, Block, Cell, Column, Detail, Document, Fact, Layout, ResultClass, ResultText, Row, Section, Table,
};
use super::{Report, labels};

/// Creates the document.
pub(super) fn document(report: &Report<'_>) -> Document {
    let plan = report.plan;
    let description = [settings::transport(report)]
        .into_iter()
        .chain(settings::settings(report));
    let sections = sweeps::sections(report)
        .into_iter()
        .chain(serving::scaling(report))
        .chain((0..plan.scenarios.len()).filter_map(|index| scenario::section(report, index)))
        .chain([
            expectations(report),
            Section::warnings(&report.evaluation.summary.warnings),
            environment::setup_costs(report),
            environment::section(report),
            method(report),
        ]);
    Document {
        name: plan.run.clone(),
        description: description.collect::<Vec<_>>().join(" · "),
        banners: banners(report),
        facts: facts(report),
        arms: plan
            .arms
            .iter()
            .map(|arm| (arm.name.clone(), arm.control.is_some()))
            .collect(),
        sections: sections.collect(),
        properties: vec![
            ("plan-hash", plan.hash().to_owned()),
            ("verdict", report.evaluation.comparisons.verdict.clone()),
        ],
        tests: gate::tests(report),
    }
}

fn banners(report: &Report<'_>) -> Vec<Banner> {
    let (class, text) = outcome(report);
    let noise = noise::above_margin(report).map(|noise| Banner {
        class: ResultClass::Suspect,
        text: format!("Noisy: {noise}."),
    });
    [Banner { class, text }].into_iter().chain(noise).collect()
}

/// The outcome of the run as a sentence.
fn outcome(report: &Report<'_>) -> (ResultClass, String) {
    let mut primary = report.evaluation.comparisons.primary();
    let (class, text) = match report.evaluation.outcome() {
        RunOutcome::Passed => return overview::passed_text(report),
        RunOutcome::Missed if primary.any(|one| one.verdict == Some(Verdict::Regressed)) => (
            ResultClass::Regressed,
            "Complete: a variant is worse than the baseline.",
        ),
        RunOutcome::Missed => (ResultClass::Regressed, "Complete: an expectation was not met."),
        RunOutcome::Suspect => (
            ResultClass::Suspect,
            "Complete, but a control shows a change, so the verdicts at that size are withheld. Repeat the run.",
        ),
        RunOutcome::Untrusted => {
            let changed = report.evaluation.changed_records.as_deref();
            let untrusted = "Complete, but some results cannot be trusted: see the cells marked invalid.";
            (ResultClass::Invalid, changed.unwrap_or(untrusted))
        }
        RunOutcome::NothingMeasured => (ResultClass::Invalid, "Nothing was measured: every case failed."),
        RunOutcome::Incomplete => (
            ResultClass::Invalid,
            "Incomplete: some blocks were not measured. The report covers only the measured blocks.",
        ),
    };
    (class, text.to_owned())
}

fn facts(report: &Report<'_>) -> Vec<Fact> {
    let summary = &report.evaluation.summary;
    let environment = &summary.environment;
    let mut facts = vec![
        Fact::new("verdict", &report.evaluation.comparisons.verdict),
        Fact::new("fabric", overview::fabric(summary.fabric.as_ref())),
    ];
    let libraries = settings::libraries(report);
    facts.extend(libraries.map(|text| Fact::new("library", text).detail(Detail::Detailed)));
    let pairs = environment.device_pairs.iter();
    facts.extend(pairs.map(|pair| Fact::new("devices", pair).detail(Detail::Detailed)));
    facts.extend(
        environment
            .claims
            .iter()
            .map(|obtained| Fact::new("claims", obtained)),
    );
    facts.push(Fact::new("noise", noise::floor(report, None)));
    facts.extend(noise::above_margin(report).map(|noise| Fact::doubt("noisy", noise)));
    let counts = isolated::run_lines(report).into_iter();
    facts.extend(counts.map(|(heading, counts)| Fact::new(heading, counts)));
    let skipped = isolated::skipped_text(report);
    facts.extend(skipped.map(|text| Fact::new("skipped", text).detail(Detail::Detailed)));
    facts.extend(stopping::ended_text(report).map(|ended| Fact::new("stopping", ended)));
    let blocks = format!(
        "{} of {} blocks were measured",
        summary.blocks_done, summary.blocks_total
    );
    facts.push(match summary.is_complete() {
        true => Fact::new("progress", blocks).detail(Detail::Full),
        false => Fact::doubt("progress", format!("incomplete: {blocks}")),
    });
    let started = environment.started_at.as_deref().unwrap_or("not started");
    facts.push(Fact::new("started", started).detail(Detail::Full));
    facts
}

fn expectations(report: &Report<'_>) -> Section {
    let answers = &report.evaluation.comparisons.expectations;
    let rows = answers.iter().map(|answer| {
        let outcome = ResultText {
            class: match answer.outcome {
                ExpectationOutcome::Met => ResultClass::Improved,
                ExpectationOutcome::NotMet => ResultClass::Regressed,
                ExpectationOutcome::Inconclusive => ResultClass::Inconclusive,
            },
            label: labels::expectation_outcome(answer),
            change: None,
            reason: None,
        };
        let line = format!("{}  ->  {}: {}", answer.text, outcome.label, answer.reason);
        let sizes = answer.sizes.iter().map(|size| {
            format!(
                "{}: {} ({:?})",
                campaign::format::size(size.size_bytes),
                size.reason,
                size.outcome
            )
        });
        let reasons: Vec<String> = match answer.sizes.is_empty() {
            true => vec![answer.reason.clone()],
            false => sizes.collect(),
        };
        Row::new([Cell::from(answer.text.as_str()), outcome.into(), reasons.into()]).line("expected", line)
    });
    let columns = vec![
        Column::sentences("expectation"),
        Column::new("outcome"),
        Column::sentences("reason"),
    ];
    let table = Table::new("", columns, rows).layout(Layout::Lines);
    let none = "The run has no expectations (spec.expectations).";
    let none = answers.is_empty().then(|| Block::note("", none, Detail::Full));
    Section {
        heading: "Expectations".to_owned(),
        is_overview: true,
        blocks: none.into_iter().chain([table.into()]).collect(),
        ..Section::default()
    }
}

/// Explains the method and the words of the report.
fn method(report: &Report<'_>) -> Section {
    let sampling = &report.plan.sampling;
    let method = format!(
        "Every round starts new processes and measures every arm at every size. Within a block, the arms run one after \
         another, in an order derived from the seed ({}). Each round yields one value: the median over its pairs of \
         ln(arm / baseline). The interval is the exact signed-rank interval of these values. All intervals of a \
         scenario's primary metric hold simultaneously with {} % confidence.",
        report.plan.seed, sampling.confidence_percent
    );
    let improved = format!(
        "the whole interval is outside the margin of {} %, on the better or the worse side.",
        sampling.margin_percent
    );
    let words = [
        ("Improved / Regressed", improved.as_str()),
        (
            "NoChange",
            "the whole interval is inside the margin, which shows equivalence.",
        ),
        (
            "Inconclusive",
            "any other interval. The cell shows the estimated number of rounds that a verdict needs, or why more rounds \
             do not help.",
        ),
        (
            "n/a",
            "no optimization of the arm applies. If the arm is identical to the baseline, its interval shows only noise \
             and serves as a control.",
        ),
        (
            "NotEngaged",
            "the optimization was requested but did not take effect, so there is no verdict.",
        ),
        (
            "suspect",
            "a control, which is identical to the baseline, shows a change at this size. Repeat the run.",
        ),
        ("invalid", "the results cannot be trusted, for the reason given."),
    ];
    let evidence = "An optimization is Confirmed if there is evidence, beyond the request itself, that it took effect. It \
                    is RequestedOnly if the provider gives no such evidence. The fabric is verified if the byte counters \
                    of its interfaces account for the payload.";
    let versions = report.evaluation.summary.environment.runner_versions.join(", ");
    let provenance = format!("Plan {}, runner {versions}", report.plan.hash());
    let columns = vec![Column::new("result"), Column::sentences("meaning")];
    let words = words.into_iter().map(|(word, meaning)| Row::new([word, meaning]));
    let note = |text: &str| Block::note("", text, Detail::Full);
    Section {
        heading: "Method and legend".to_owned(),
        blocks: vec![
            note(&method),
            Table::new("", columns, words).detail(Detail::Full).into(),
            note(evidence),
            note(&provenance),
        ],
        ..Section::default()
    }
}
