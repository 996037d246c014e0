//! Report of a comparison of two runs.

use campaign::compare_runs::{Difference, FinishedRun, RunComparison, unreported_properties};
use campaign::distinct::distinct;
use campaign::format;
use crds::record::HelloRecord;
use crds::v1alpha1::{InconclusiveReason, Verdict};
use serde_json::json;

use super::document::{
    Banner, Block, Cell, Column, Detail, Fact, ResultClass, ResultText, Row, Section, Table, Test,
    TestOutcome, VALIDITY,
};
use super::{Document, RenderError, Subject, json, labels};

/// Comparison of two runs.
#[derive(Clone, Copy, Debug)]
pub struct ComparedRuns<'a> {
    /// The first run.
    pub first: &'a FinishedRun<'a>,
    /// The second run.
    pub second: &'a FinishedRun<'a>,
    /// Where the first and the second run are stored.
    pub locations: [&'a str; 2],
    /// Differences of the environments, in spite of which the runs were compared.
    pub differences: &'a [Difference],
    /// Comparisons of each arm at each size.
    pub comparisons: &'a [RunComparison],
}

impl ComparedRuns<'_> {
    /// Comparisons of all arms except the baseline.
    fn variants(&self) -> impl Iterator<Item = &RunComparison> {
        let plan = self.first.plan;
        let baseline = plan.arms.get(plan.baseline).map(|arm| arm.name.as_str());
        let comparisons = self.comparisons.iter();
        comparisons.filter(move |one| Some(one.arm.as_str()) != baseline)
    }

    /// Number of comparisons with each verdict and without one.
    fn verdict(&self) -> String {
        let count = |verdict: Option<Verdict>| self.variants().filter(|one| one.verdict == verdict).count();
        let counts = [
            ("improved", Some(Verdict::Improved)),
            ("regressed", Some(Verdict::Regressed)),
            ("no change", Some(Verdict::NoChange)),
            ("inconclusive", Some(Verdict::Inconclusive)),
            ("no verdict", None),
        ];
        let counts = counts.map(|(name, verdict)| format!("{name} {}", count(verdict)));
        let total = format::pluralized(self.variants().count() as u64, "comparison");
        format!("{} of {total}", counts.join(", "))
    }

    fn facts(&self) -> Vec<Fact> {
        let method = "the runs were not interleaved; each arm is compared with the baseline of its own run to cancel out \
                      effects common to both arms";
        let different = self.differences.iter().map(|different| {
            let Difference {
                property,
                first,
                second,
            } = different;
            Fact::doubt("differs", format!("{property}: {first} | {second}"))
        });
        let unknown = unreported_properties(self.first, self.second);
        let unknown = (!unknown.is_empty()).then(|| {
            let text = format!(
                "not compared, because at least one host does not report it: {}",
                unknown.join(", ")
            );
            Fact::new("unknown", text)
        });
        let [first, second] = self.locations;
        [
            Fact::new("verdict", self.verdict()),
            Fact::new("first", origin(self.first, first)),
            Fact::new("second", origin(self.second, second)),
            Fact::new("method", method),
        ]
        .into_iter()
        .chain(different)
        .chain(unknown)
        .collect()
    }

    fn changes(&self) -> Section {
        let rows = self.comparisons.iter().map(|one| {
            let value = |value: Option<f64>| match value {
                Some(value) => labels::metric_value(one.metric, value),
                None => "no valid round".to_owned(),
            };
            Row::new([
                Cell::from(one.scenario.as_str()),
                format::size(one.size_bytes).into(),
                one.arm.as_str().into(),
                one.metric.to_string().into(),
                value(one.first).into(),
                value(one.second).into(),
                change(one).into(),
            ])
        });
        let titles = ["scenario", "size", "arm", "metric", "first", "second"];
        let columns = titles.into_iter().map(Column::new);
        let table = Table::new("", columns.chain([Column::sentences("change")]).collect(), rows);
        let nothing = "nothing to compare: the runs have no combination of scenario, size and arm in common";
        let nothing = self
            .comparisons
            .is_empty()
            .then(|| Block::note("", nothing, Detail::Brief));
        let sampling = &self.first.plan.sampling;
        Section {
            heading: "Changes".to_owned(),
            description: format!(
                "first, second: median of the rounds; change: median change in the ratio to the baseline over all pairs of \
                 rounds, one from each run [rank-sum and Welch interval; simultaneous {} % in each scenario], margin {} %",
                sampling.confidence_percent, sampling.margin_percent
            ),
            blocks: nothing.into_iter().chain([table.into()]).collect(),
            ..Section::default()
        }
    }

    /// A test for the trustworthiness of the comparison, and one for each arm.
    fn tests(&self) -> Vec<Test> {
        let different: Vec<String> = self
            .differences
            .iter()
            .map(|one| format!("{}: {} | {}", one.property, one.first, one.second))
            .collect();
        let has_verdict = self.variants().any(|one| one.verdict.is_some());
        let outcome = match (different.is_empty(), has_verdict) {
            (false, _) => TestOutcome::Error("the runs are not comparable".to_owned(), different.join("\n")),
            (true, false) => TestOutcome::Error("no comparison has a verdict".to_owned(), String::new()),
            (true, true) => TestOutcome::Passed,
        };
        let validity = Test {
            name: VALIDITY.to_owned(),
            outcome,
        };
        let arms = distinct(self.variants().map(|one| one.arm.as_str()));
        let tests = arms.into_iter().map(|arm| Test {
            name: format!("{arm}: no regression at any size"),
            outcome: self.regression(arm),
        });
        [validity].into_iter().chain(tests).collect()
    }

    fn regression(&self, arm: &str) -> TestOutcome {
        let lines = |predicate: fn(Option<Verdict>) -> bool| -> Vec<String> {
            let own = self.variants().filter(|one| one.arm == arm);
            let selected = own.filter(|one| predicate(one.verdict));
            selected
                .map(|one| {
                    let size = format::size(one.size_bytes);
                    format!("{} {size}: {}", one.scenario, change(one).line())
                })
                .collect()
        };
        let regressed = lines(|verdict| verdict == Some(Verdict::Regressed));
        let undecided = lines(|verdict| matches!(verdict, None | Some(Verdict::Inconclusive)));
        match (regressed.is_empty(), undecided.len()) {
            (false, _) => TestOutcome::Failed("worse than in the first run".to_owned(), regressed.join("\n")),
            (true, 0) => TestOutcome::Passed,
            (true, count) => TestOutcome::Skipped(
                format!("undecided in {}", format::pluralized(count as u64, "comparison")),
                undecided.join("\n"),
            ),
        }
    }
}

impl Subject for ComparedRuns<'_> {
    fn document(&self) -> Document {
        let Self { first, second, .. } = self;
        let incomparable = (!self.differences.is_empty()).then(|| Banner {
            class: ResultClass::Invalid,
            text: NOT_COMPARABLE.to_owned(),
        });
        let mut facts = self.facts();
        if incomparable.is_some() {
            facts.insert(0, Fact::doubt("forced", NOT_COMPARABLE).detail(Detail::Brief));
        }
        Document {
            name: format!("{} compared with {}", second.plan.run, first.plan.run),
            banners: incomparable.into_iter().collect(),
            facts,
            sections: vec![self.changes()],
            properties: vec![("interleaved", "false".to_owned()), ("verdict", self.verdict())],
            tests: self.tests(),
            ..Document::default()
        }
    }

    fn json(&self) -> Result<String, RenderError> {
        let runs = [self.first, self.second];
        let started_at = runs.map(|run| first_hello(run).map(|hello| &hello.started_at));
        let document = json!({
            "first": self.first.plan.run, "second": self.second.plan.run, "locations": self.locations,
            "startedAt": started_at, "interleaved": false,
            "differences": self.differences, "unreported": unreported_properties(self.first, self.second),
            "comparisons": self.comparisons,
        });
        json::text(&document).map_err(RenderError::failed)
    }

    fn csv(&self) -> Result<String, RenderError> {
        Err(RenderError::CSV_OF_COMPARISON)
    }

    fn openmetrics(&self) -> Result<String, RenderError> {
        Err(RenderError::METRICS_OF_COMPARISON)
    }
}

/// Says that the environments differ.
const NOT_COMPARABLE: &str = "The runs are not comparable. They were compared because of --force.";

/// What the first worker of a run reported when it started; `None` if no worker has.
fn first_hello<'a>(run: &FinishedRun<'a>) -> Option<&'a HelloRecord> {
    let worker = run.evaluation.summary.environment.workers.first();
    worker.map(|worker| &worker.hello)
}

/// What tells a run apart from another one with the same name: when it started, its uid, and where it is stored.
fn origin(run: &FinishedRun<'_>, location: &str) -> String {
    let started =
        first_hello(run).map(|hello| format!("started {}, uid {}, ", hello.started_at, hello.identity.uid));
    format!("{}: {}{location}", run.plan.run, started.unwrap_or_default())
}

/// The change with its verdict, or the reason for its absence.
fn change(one: &RunComparison) -> ResultText {
    let resolution = "the last digit of the printed values leaves it open";
    let (class, label, reason) = match (one.verdict, one.inconclusive) {
        (Some(Verdict::Improved), _) => (ResultClass::Improved, "Improved", None),
        (Some(Verdict::Regressed), _) => (ResultClass::Regressed, "Regressed", None),
        (Some(Verdict::NoChange), _) => (ResultClass::NoChange, "NoChange", None),
        (Some(Verdict::Inconclusive), Some(InconclusiveReason::Resolution)) => (
            ResultClass::Inconclusive,
            "Inconclusive",
            Some(resolution.to_owned()),
        ),
        (Some(Verdict::Inconclusive), Some(InconclusiveReason::Noise) | None) => {
            (ResultClass::Inconclusive, "Inconclusive", None)
        }
        (None, _) => (ResultClass::NotApplicable, "no verdict", one.reason.clone()),
    };
    ResultText {
        class,
        label,
        change: one
            .change_percent
            .map(|percent| format::change(percent, one.interval_percent)),
        reason,
    }
}
