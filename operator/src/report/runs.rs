//! Two runs against each other, for a terminal.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use crds::v1alpha1::Verdict;

use super::text::TextOptions;
use super::words;
use crate::campaign::compare_runs::{Difference, FinishedRun, RunComparison};
use crate::campaign::format;

/// A line under the header only.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The comparison as text, with a newline at its end.
pub fn text(
    first: &FinishedRun<'_>,
    second: &FinishedRun<'_>,
    different: &[Difference],
    comparisons: &[RunComparison],
    options: &TextOptions<'_>,
) -> String {
    let mut text = format!(
        "{} against {}\n  not interleaved: each arm is judged against the baseline of its own run, which takes out what moved both\n",
        second.plan.run, first.plan.run
    );
    if !different.is_empty() {
        text += "  NOT COMPARABLE, compared by --force:\n";
        for difference in different {
            text += &format!(
                "    {}: {} | {}\n",
                difference.what, difference.first, difference.second
            );
        }
    }
    text += &format!(
        "  first and second: medians of the rounds. change: of a round's ratio to the baseline, the median of all from one\n  \
         of the first to one of the second [exact rank-sum interval; {} % for a whole scenario], margin {} %\n",
        first.plan.sampling.confidence_percent, first.plan.sampling.margin_percent
    );
    let mut table = Table::new();
    table
        .load_style(PLAIN)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(options.width)
        .force_no_tty()
        .set_header(["scenario", "size", "arm", "metric", "first", "second", "change"]);
    for one in comparisons {
        let figure = |value: Option<f64>| match value {
            Some(value) => words::figure(one.metric, value),
            None => "no valid round".to_owned(),
        };
        table.add_row([
            one.scenario.clone(),
            format::size(one.size_bytes),
            one.arm.clone(),
            one.metric.to_string(),
            figure(one.first),
            figure(one.second),
            change(one),
        ]);
    }
    if comparisons.is_empty() {
        return text + "  nothing to compare: the runs share no scenario, size and arm\n";
    }
    let lines = table.lines().map(|line| format!("  {}\n", line.trim_end()));
    text += &lines.collect::<String>();
    let baseline = first.plan.arms.get(first.plan.baseline).map(|arm| &arm.name);
    let judged: Vec<_> = comparisons
        .iter()
        .filter(|one| Some(&one.arm) != baseline)
        .collect();
    let without = judged.iter().filter(|one| one.verdict.is_none()).count();
    if without > 0 {
        text += &format!("  {without} of {} comparisons have no verdict\n", judged.len());
    }
    text
}

fn change(one: &RunComparison) -> String {
    let effect = one.change_percent.map(format::percent).unwrap_or_default();
    let interval = one
        .interval_percent
        .map(|(low, high)| format!(" {}", format::interval(low, high)));
    let word = match (one.verdict, &one.reason) {
        (Some(Verdict::Improved), _) => "Improved".to_owned(),
        (Some(Verdict::Regressed), _) => "Regressed".to_owned(),
        (Some(Verdict::NoChange), _) => "NoChange".to_owned(),
        (Some(Verdict::Inconclusive), _) => "Inconclusive".to_owned(),
        (None, reason) => reason.clone().unwrap_or_default(),
    };
    format!("{effect}{} {word}", interval.unwrap_or_default())
}
