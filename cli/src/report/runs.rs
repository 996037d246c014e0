//! Text report that compares two runs.

use campaign::compare_runs::{Difference, FinishedRun, RunComparison, unreported_properties};
use campaign::format;
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use crds::printable::printable;
use crds::v1alpha1::{InconclusiveReason, Verdict};

use super::labels;
use super::text::TextOptions;

/// Table style with only a line under the header.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Name of a run. If the other run has the same name, also when the run started and its uid, which tell them apart.
fn label(run: &FinishedRun<'_>, other: &FinishedRun<'_>) -> String {
    let name = &run.plan.run;
    let first = run.evaluation.summary.environment.workers.first();
    match first.filter(|_| run.plan.run == other.plan.run) {
        Some(worker) => {
            let hello = &worker.hello;
            format!(
                "{name} (started {}, uid {})",
                hello.started_at, hello.identity.uid
            )
        }
        None => name.clone(),
    }
}

/// Renders the comparison as text with a final newline.
pub fn text(
    first: &FinishedRun<'_>,
    second: &FinishedRun<'_>,
    different: &[Difference],
    comparisons: &[RunComparison],
    options: &TextOptions<'_>,
) -> String {
    let mut text = format!(
        "{} compared with {}\n  The runs were not interleaved. Each arm is compared with the baseline of its own run to cancel out effects common to\n  \
         both arms.\n",
        label(second, first),
        label(first, second)
    );
    if !different.is_empty() {
        text += "  THE RUNS ARE NOT COMPARABLE (compared because of --force):\n";
        for difference in different {
            text += &format!(
                "    {}: {} | {}\n",
                difference.property, difference.first, difference.second
            );
        }
    }
    let unknown = unreported_properties(first, second);
    if !unknown.is_empty() {
        text += &format!(
            "  Not compared, because at least one host does not report it: {}\n",
            unknown.join(", ")
        );
    }
    text += &format!(
        "  first, second: median of the rounds. change: median change in the ratio to the baseline over all pairs of rounds,\n  \
         one from each run [rank-sum and Welch interval; simultaneous {} % in each scenario], margin {} %\n",
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
        let value_text = |value: Option<f64>| match value {
            Some(value) => labels::metric_value(one.metric, value),
            None => "no valid round".to_owned(),
        };
        table.add_row([
            one.scenario.clone(),
            format::size(one.size_bytes),
            one.arm.clone(),
            one.metric.to_string(),
            value_text(one.first),
            value_text(one.second),
            change(one),
        ]);
    }
    if comparisons.is_empty() {
        text += "  nothing to compare: the runs have no combination of scenario, size and arm in common\n";
        return printable(&text).into_owned();
    }
    let lines = table.lines().map(|line| format!("  {}\n", line.trim_end()));
    text += &lines.collect::<String>();
    let baseline = first.plan.arms.get(first.plan.baseline).map(|arm| &arm.name);
    let variants: Vec<_> = comparisons
        .iter()
        .filter(|one| Some(&one.arm) != baseline)
        .collect();
    let no_verdict = variants.iter().filter(|one| one.verdict.is_none()).count();
    if no_verdict > 0 {
        text += &format!(
            "  {no_verdict} of {} comparisons have no verdict\n",
            variants.len()
        );
    }
    printable(&text).into_owned()
}

fn change(one: &RunComparison) -> String {
    let change = one
        .change_percent
        .map(|percent| format::change(percent, one.interval_percent));
    let verdict = match (one.verdict, &one.reason) {
        (Some(Verdict::Improved), _) => "Improved".to_owned(),
        (Some(Verdict::Regressed), _) => "Regressed".to_owned(),
        (Some(Verdict::NoChange), _) => "NoChange".to_owned(),
        (Some(Verdict::Inconclusive), _) => match one.inconclusive {
            Some(InconclusiveReason::Resolution) => {
                "Inconclusive: the last digit of the printed values leaves it open".to_owned()
            }
            Some(InconclusiveReason::Noise) | None => "Inconclusive".to_owned(),
        },
        (None, reason) => reason.clone().unwrap_or_default(),
    };
    format!("{} {verdict}", change.unwrap_or_default())
}
