//! Tests of the `rpc` and `memoryFootprint` workloads, most of which run isolated processes: how many succeeded, a table for
//! each section, and the fastest calls.

mod calls;
mod footprints;

use campaign::format;
use campaign::plan::Arm;
use campaign::summarize::{CellSummary, CellView};
use crds::units::Size;
use crds::v1alpha1::{CallCause, CallSection};
use serde::Serialize;

use crate::report::Report;
use crate::report::document::{Column, Row, Table};
pub(crate) use calls::{Fastest, time};

/// Kind of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestKind {
    /// Calls of one arm with one payload.
    Calls,
    /// Memory of one arm's consumers with a tensor of one size.
    Footprints,
}

impl TestKind {
    /// Both kinds.
    pub(crate) const ALL: [Self; 2] = [Self::Calls, Self::Footprints];

    /// Returns the heading of the line with the counts.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Footprints => "memory",
        }
    }

    /// Returns the plural noun for the tests.
    fn noun(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Footprints => "memory tests",
        }
    }
}

/// Test of one arm with one payload or one size. Control arms have no tests.
#[derive(Clone, Copy)]
pub(crate) struct Test<'a> {
    /// Results of the arm.
    pub cell: &'a CellSummary,
    /// Arm of the test.
    pub arm: &'a Arm,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Section that contains the test.
    pub section: CallSection,
    cause: Option<CallCause>,
    message: Option<&'a str>,
}

impl<'a> Test<'a> {
    /// Creates the test of `kind` with the results in `cell`. Returns `None` if the cell has no such test, or belongs to
    /// a control arm.
    fn new(kind: TestKind, view: CellView<'a>) -> Option<Self> {
        let cell = view.cell;
        let (section, cause, message) = match kind {
            TestKind::Calls => {
                let call = cell.call.as_ref()?;
                (call.section, call.cause, &call.message)
            }
            TestKind::Footprints => {
                let footprint = cell.footprint.as_ref()?;
                (footprint.section, footprint.cause, &footprint.message)
            }
        };
        (!view.is_control()).then(|| Self {
            cell,
            arm: view.arm,
            scenario: &view.scenario.assignment.name,
            section,
            cause,
            message: message.as_deref(),
        })
    }

    /// Returns the name of the payload, or the size of the tensor.
    pub(crate) fn subject(&self) -> String {
        let call = self.cell.call.as_ref();
        call.map_or_else(
            || Size(self.cell.size_bytes).to_string(),
            |call| call.payload.name().to_owned(),
        )
    }

    /// Returns the test name: the payload or size, and the arm.
    pub(crate) fn name(&self) -> String {
        format!("{} over {}", self.subject(), self.arm.name)
    }

    /// Returns the cause of a failure or a skip, with its message.
    pub(crate) fn problem(&self) -> String {
        let cause = self.cause.map(|cause| format!("{cause:?}"));
        let parts = cause.into_iter().chain(self.message.map(str::to_owned));
        parts.collect::<Vec<_>>().join(": ")
    }
}

/// Returns the tests of one kind in the whole run, by scenario, size and arm.
pub(crate) fn tests<'a>(report: &Report<'a>, kind: TestKind) -> Vec<Test<'a>> {
    report.cells().filter_map(|view| Test::new(kind, view)).collect()
}

/// Number of tests in each section.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts<'a> {
    /// Number of successful tests.
    pub successful: usize,
    /// Number of failed tests.
    pub failed: usize,
    /// Number of skipped tests.
    pub skipped: usize,
    /// Number of all tests.
    pub total: usize,
    /// Successful calls with the smallest mean; `None` for other tests, and if no calls are successful.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fastest: Option<Fastest<'a>>,
}

impl<'a> Counts<'a> {
    /// Counts `tests`; `None` if there are none.
    fn new(tests: &[Test<'a>]) -> Option<Self> {
        let count = |section| tests.iter().filter(|test| test.section == section).count();
        (!tests.is_empty()).then(|| Self {
            successful: count(CallSection::Successful),
            failed: count(CallSection::Failed),
            skipped: count(CallSection::Skipped),
            total: tests.len(),
            fastest: calls::fastest(tests),
        })
    }

    /// Formats the counts and the fastest calls. `with_scenario` also names the scenario of the fastest calls.
    fn line(&self, with_scenario: bool) -> String {
        let counts = format!(
            "{} successful, {} failed, {} skipped (total {})",
            self.successful, self.failed, self.skipped, self.total
        );
        match &self.fastest {
            Some(fastest) => format!("{counts}; fastest {}", fastest.line(with_scenario)),
            None => counts,
        }
    }
}

/// Counts the tests of one kind in the whole run; `None` if there are none.
pub(crate) fn counts<'a>(report: &Report<'a>, kind: TestKind) -> Option<Counts<'a>> {
    Counts::new(&tests(report, kind))
}

/// Returns the heading and the text of a line with the counts in the whole run, for each kind of tests in it.
pub(crate) fn run_lines(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let lines = TestKind::ALL.into_iter().filter_map(|kind| {
        let tests = tests(report, kind);
        let line = Counts::new(&tests)?.line(are_in_several_scenarios(&tests));
        Some((kind.heading(), line))
    });
    lines.collect()
}

/// Returns a sentence on the skipped tests of the run, with their causes and their effect on the exit status; `None` if no
/// test was skipped.
pub(crate) fn skipped_text(report: &Report<'_>) -> Option<String> {
    let tests: Vec<Test<'_>> = TestKind::ALL
        .into_iter()
        .flat_map(|kind| tests(report, kind))
        .filter(|test| test.section == CallSection::Skipped)
        .collect();
    let causes = [
        (CallCause::NoGpu, "no GPU can be used"),
        (CallCause::NotEnoughMemory, "there is not enough memory"),
    ];
    let causes = causes.into_iter().filter_map(|(cause, reason)| {
        let count = tests.iter().filter(|test| test.cause == Some(cause)).count() as u64;
        (count > 0).then(|| format!("{} skipped because {reason}", format::pluralized(count, "test")))
    });
    let causes: Vec<String> = causes.collect();
    (!causes.is_empty()).then(|| {
        format!(
            "{}. Therefore, the exit status is 3. Measure on a machine that has what is missing, or remove the scenarios",
            causes.join(", ")
        )
    })
}

fn are_in_several_scenarios(tests: &[Test<'_>]) -> bool {
    tests.windows(2).any(|pair| match pair {
        [one, other] => one.cell.scenario != other.cell.scenario,
        _ => false,
    })
}

/// Tests of one scenario, ready for output.
pub(crate) struct ScenarioTests {
    /// A table for each section that has tests. The tables of a scenario of the spec with several numbers of consumers are
    /// in the first of its scenarios, and contain the tests of all of them.
    pub tables: Vec<Table>,
    /// Heading and text of the line with the counts; `None` if no other scenario has such tests, because the line for
    /// the whole run is then the same.
    pub counts: Option<(&'static str, String)>,
}

/// Returns the tests of the scenario with index `scenario`; `None` if it has none.
pub(crate) fn of_scenario(report: &Report<'_>, scenario: usize) -> Option<ScenarioTests> {
    TestKind::ALL.into_iter().find_map(|kind| {
        let all = tests(report, kind);
        let own = all.iter().filter(|test| test.cell.scenario == scenario);
        let own: Vec<Test<'_>> = own.copied().collect();
        let counts = Counts::new(&own)?;
        let tables = match group(report, scenario) {
            None => tables(kind, &own),
            Some(group) if group.first() == Some(&scenario) => {
                let of_group = all.iter().filter(|test| group.contains(&test.cell.scenario));
                let mut of_group: Vec<Test<'_>> = of_group.copied().collect();
                // The rows of one arm and size follow each other, so that they show how the memory scales.
                of_group.sort_by_key(|test| (test.cell.size_bytes, test.cell.arm));
                self::tables(kind, &of_group)
            }
            Some(_) => Vec::new(),
        };
        Some(ScenarioTests {
            tables,
            counts: are_in_several_scenarios(&all).then(|| (kind.heading(), counts.line(false))),
        })
    })
}

/// Indexes of the scenarios that were created from the same scenario of the spec as `scenario`, with different numbers of
/// consumers; `None` if it has only one number.
fn group(report: &Report<'_>, scenario: usize) -> Option<Vec<usize>> {
    let scenarios = &report.plan.scenarios;
    let name = scenarios.get(scenario)?.several_counts.as_ref()?;
    let of_group = scenarios.iter().enumerate();
    let of_group = of_group.filter(|(_, planned)| planned.several_counts.as_ref() == Some(name));
    Some(of_group.map(|(index, _)| index).collect())
}

/// Returns a table for each section of a scenario's `tests`.
fn tables(kind: TestKind, tests: &[Test<'_>]) -> Vec<Table> {
    let sections = [
        ("successful", CallSection::Successful),
        ("failed", CallSection::Failed),
        ("skipped", CallSection::Skipped),
    ];
    let tables = sections.into_iter().filter_map(|(name, section)| {
        let of_section = tests.iter().filter(|test| test.section == section);
        let of_section: Vec<&Test<'_>> = of_section.collect();
        let title = format!("{name} {}", kind.noun());
        if of_section.is_empty() {
            return None;
        }
        Some(match (section, kind) {
            (CallSection::Successful, TestKind::Calls) => calls::table(title, &of_section),
            (CallSection::Successful, TestKind::Footprints) => footprints::table(title, &of_section),
            (CallSection::Failed, _) => problems(kind, title, "error", &of_section),
            (CallSection::Skipped, _) => problems(kind, title, "reason", &of_section),
        })
    });
    tables.collect()
}

/// Returns a table of failed or skipped tests. `column` is the title of the column with the causes and messages.
fn problems(kind: TestKind, title: String, column: &'static str, tests: &[&Test<'_>]) -> Table {
    // The scenarios of several numbers of consumers share a table.
    let consumers = match kind {
        TestKind::Calls => None,
        TestKind::Footprints => Some("consumers"),
    };
    let row = |test: &&Test<'_>| {
        let footprint = test.cell.footprint.as_ref();
        let mut row = vec![test.subject(), test.arm.name.clone()];
        row.extend(footprint.map(|footprint| footprint.consumers.to_string()));
        row.push(test.problem());
        Row::new(row)
    };
    let columns = ["test", "arm"].into_iter().chain(consumers).map(Column::new);
    let columns = columns.chain([Column::sentences(column)]);
    Table::new(title, columns.collect(), tests.iter().map(row))
}

#[cfg(test)]
mod tests;
