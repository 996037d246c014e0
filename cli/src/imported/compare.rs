//! Pairs the values of two runs, at least one of which is imported. Computes no verdict. Performs no I/O.

use campaign::Evaluation;
use campaign::distinct::distinct;
use campaign::plan::HashedPlan;
use campaign::stats::median_of;
use campaign::summarize::{CellSummary, CellView};
use crds::v1alpha1::{CommandPattern, CommandTool, Metric};
use serde::Serialize;
use snafu::{Snafu, ensure};

use super::values::METRICS;
use super::{ImportedRun, ValueSummary};

/// Maximum number of names in an error.
const MAX_NAMES: usize = 8;

/// Origin of a run's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Origin {
    /// Existing logs.
    Imported,
    /// Rounds of a finished run.
    Measured,
}

/// One of the two runs in a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Name of the run.
    pub name: String,
    /// Origin of the values.
    pub origin: Origin,
    /// Tools that reported the values, with their patterns.
    tools: Vec<(CommandTool, Option<CommandPattern>)>,
    /// Values of each variant or arm, size and metric.
    values: Vec<SideValue>,
}

/// One value from a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SideValue {
    /// Name of the variant or arm.
    pub variant: String,
    /// Scenario of a measured run.
    pub scenario: Option<String>,
    /// Size in bytes, if it is known.
    pub size: Option<u64>,
    /// Metric of the value.
    pub metric: Metric,
    /// Summary of the values in the logs or rounds.
    pub observed: ValueSummary,
}

/// Values of two runs at the same size.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Value of the first run.
    pub first: SideValue,
    /// Value of the second run.
    pub second: SideValue,
}

/// Error that prevents two runs from being compared.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum CompareError {
    /// The measured run has no `command` scenario.
    #[snafu(display(
        "{run} has no `command` scenario, so it contains no values that a tool reported. Compare imported values with a \
         run that measured the same tool"
    ))]
    NoCommand {
        /// Name of the run.
        run: String,
    },
    /// The runs used different tools.
    #[snafu(display(
        "{first} was measured with {first_tools}, but {second} was measured with {second_tools}. Tools define latency \
         and bandwidth differently; compare runs of the same tool"
    ))]
    OtherTool {
        /// Name of the first run.
        first: String,
        /// Tools of the first run.
        first_tools: String,
        /// Name of the second run.
        second: String,
        /// Tools of the second run.
        second_tools: String,
    },
    /// The runs have no variant in common.
    #[snafu(display(
        "the runs have no variant in common: {first} has {first_variants}, {second} has {second_variants}. Import the logs \
         again with --variant NAME=FILE and the names of the other run"
    ))]
    OtherVariants {
        /// Name of the first run.
        first: String,
        /// Variants of the first run.
        first_variants: String,
        /// Name of the second run.
        second: String,
        /// Variants of the second run.
        second_variants: String,
    },
    /// The runs have no size and metric in common.
    #[snafu(display("{first} and {second} have no size and metric in common"))]
    OtherSizes {
        /// Name of the first run.
        first: String,
        /// Name of the second run.
        second: String,
    },
}

impl Side {
    /// Returns the values of an imported run.
    pub fn from_imported(run: &ImportedRun) -> Self {
        let names = run.manifest.variants();
        let values = run.values.iter().filter_map(|value| {
            Some(SideValue {
                variant: (*names.get(value.variant)?).to_owned(),
                scenario: None,
                size: value.size,
                metric: value.metric,
                observed: value.observed,
            })
        });
        Self {
            name: run.manifest.name.clone(),
            origin: Origin::Imported,
            tools: vec![(run.manifest.tool, run.manifest.pattern.clone())],
            values: values.collect(),
        }
    }

    /// Returns the values that the tools reported in the valid rounds of a measured run.
    pub fn from_measured(plan: &HashedPlan, evaluation: &Evaluation) -> Self {
        let mut tools = Vec::new();
        let mut values = Vec::new();
        for scenario in &plan.scenarios {
            let tool = scenario.assignment.workload.tool();
            tools.extend(tool.map(|tool| (tool.kind, tool.pattern.cloned())));
        }
        for view in CellView::all(plan, &evaluation.summary.cells) {
            let CellView { scenario, arm, cell } = view;
            if scenario.assignment.workload.tool().is_some() && !view.is_control() {
                for metric in METRICS {
                    values.extend(cell.metric(metric).map(|summary| SideValue {
                        variant: arm.name.clone(),
                        scenario: Some(scenario.assignment.name.clone()),
                        size: Some(cell.size_bytes),
                        metric,
                        observed: ValueSummary {
                            logs: summary.rounds,
                            median: summary.median,
                            min: summary.min,
                            max: summary.max,
                            range: median_range(cell, metric).unwrap_or((summary.median, summary.median)),
                        },
                    }));
                }
            }
        }
        tools.dedup();
        Self {
            name: plan.run.clone(),
            origin: Origin::Measured,
            tools,
            values,
        }
    }

    fn variants(&self) -> Vec<&str> {
        distinct(self.values.iter().map(|value| value.variant.as_str()))
    }

    fn describe_tools(&self) -> String {
        let tools = self.tools.iter().map(|(tool, pattern)| match pattern {
            Some(pattern) => format!("{tool:?} with the expression `{}`", pattern.expression),
            None => format!("{tool:?}"),
        });
        tools.collect::<Vec<_>>().join(", ")
    }
}

/// Medians over the rounds of `cell` of the least and of the greatest value that the tool prints like the value of
/// `metric`; `None` in records of earlier releases.
fn median_range(cell: &CellSummary, metric: Metric) -> Option<(f64, f64)> {
    let ranges = || {
        cell.printed_ranges
            .get(&metric)
            .into_iter()
            .flat_map(|ranges| ranges.values())
    };
    let mut least: Vec<f64> = ranges().map(|(least, _)| *least).collect();
    let mut most: Vec<f64> = ranges().map(|(_, most)| *most).collect();
    median_of(&mut least).zip(median_of(&mut most))
}

/// Returns the values of `first` and `second` with the same variant, size and metric. If each run has one variant,
/// their names may differ.
///
/// # Errors
/// Returns an error if no values match.
pub fn pairs(first: &Side, second: &Side) -> Result<Vec<Pair>, CompareError> {
    for side in [first, second] {
        ensure!(!side.tools.is_empty(), NoCommandSnafu { run: &side.name });
    }
    let [only] = first.tools.as_slice() else {
        return different_tools(first, second);
    };
    if second.tools.as_slice() != std::slice::from_ref(only) {
        return different_tools(first, second);
    }
    let (first_names, second_names) = (first.variants(), second.variants());
    let is_single = first_names.len() == 1 && second_names.len() == 1;
    let has_common = first_names.iter().any(|name| second_names.contains(name));
    if !is_single && !has_common {
        return OtherVariantsSnafu {
            first: &first.name,
            first_variants: join_names(&first_names),
            second: &second.name,
            second_variants: join_names(&second_names),
        }
        .fail();
    }
    let mut found = Vec::new();
    for one in &first.values {
        let same = |other: &&SideValue| {
            (is_single || other.variant == one.variant)
                && (other.size, other.metric) == (one.size, one.metric)
                // A log has no scenario, so its values are compared with every scenario of a measured run.
                && (one.scenario == other.scenario || one.scenario.is_none() || other.scenario.is_none())
        };
        found.extend(second.values.iter().filter(same).map(|other| Pair {
            first: one.clone(),
            second: other.clone(),
        }));
    }
    ensure!(
        !found.is_empty(),
        OtherSizesSnafu {
            first: &first.name,
            second: &second.name
        }
    );
    Ok(found)
}

fn different_tools<R>(first: &Side, second: &Side) -> Result<R, CompareError> {
    OtherToolSnafu {
        first: &first.name,
        first_tools: first.describe_tools(),
        second: &second.name,
        second_tools: second.describe_tools(),
    }
    .fail()
}

fn join_names(names: &[&str]) -> String {
    let mut shown: Vec<&str> = names.iter().copied().take(MAX_NAMES).collect();
    if names.len() > MAX_NAMES {
        shown.push("…");
    }
    shown.join(", ")
}
