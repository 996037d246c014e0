//! Text report for a terminal: verdicts first, and a reason for every missing result.

mod evidence;
mod result_table;
mod table;

use std::fmt::Write;

use campaign::format;
use crds::printable::{printable_on_one_line, printable_with_styles};

use super::observations::{self, ObservationKind};
use super::{
    Report, arm_values, factors, isolated, labels, lost_rounds, noise, overview, serving, stopping, sweep,
};

/// Width in columns if the output is not a terminal.
pub const DEFAULT_WIDTH: u16 = 132;
/// Minimum width in columns.
pub const MIN_WIDTH: u16 = 60;
/// Maximum number of warnings shown. The JSON and HTML reports contain all of them.
const MAX_WARNINGS: usize = 10;

/// Options of the text report.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions<'a> {
    /// Width in columns.
    pub width: u16,
    /// Whether verdicts are colored.
    pub color: bool,
    /// Path to the full report, if it was written.
    pub full_report: Option<&'a str>,
    /// Run state with its reason and message, if it is neither running nor complete.
    pub state_summary: Option<&'a str>,
}

impl Default for TextOptions<'_> {
    fn default() -> Self {
        Self {
            width: DEFAULT_WIDTH,
            color: false,
            full_report: None,
            state_summary: None,
        }
    }
}

/// Renders the report as text with a final newline.
pub fn render(report: &Report<'_>, options: &TextOptions<'_>) -> String {
    let width = options.width.max(MIN_WIDTH);
    let mut text = String::new();
    head(&mut text, report, options.state_summary, width);
    sweeps(&mut text, report, width);
    append_scaling(&mut text, report, width);
    for index in 0..report.plan.scenarios.len() {
        scenario(&mut text, report, index, width, options.color);
    }
    expectations(&mut text, report, width);
    warnings(&mut text, report, width);
    if let Some(path) = options.full_report {
        push_line(&mut text, "report", path, width);
    }
    printable_with_styles(&text)
}

fn head(text: &mut String, report: &Report<'_>, state_summary: Option<&str>, width: u16) {
    let mut title = vec![overview::transport(report)];
    title.extend(overview::settings(report));
    push_wrapped(
        text,
        &format!("{}   ", report.plan.run),
        &title.join(" · "),
        width,
    );
    if let Some(state) = state_summary {
        push_line(text, "state", state, width);
    }
    push_line(text, "verdict", &report.evaluation.comparisons.verdict, width);
    let summary = &report.evaluation.summary;
    push_line(text, "fabric", &overview::fabric(summary.fabric.as_ref()), width);
    if let Some(libraries) = overview::libraries(report) {
        push_line(text, "library", &libraries, width);
    }
    for pair in &summary.environment.device_pairs {
        push_line(text, "devices", pair, width);
    }
    for obtained in &summary.environment.claims {
        push_line(text, "claims", obtained, width);
    }
    push_line(text, "noise", &noise::floor(report, None), width);
    if let Some(noise) = noise::above_margin(report) {
        push_line(text, "noisy", &noise, width);
    }
    for (heading, counts) in isolated::run_lines(report) {
        push_line(text, heading, &counts, width);
    }
    if let Some(skipped) = isolated::skipped_text(report) {
        push_line(text, "skipped", &skipped, width);
    }
    if let Some(ended) = stopping::ended_text(report) {
        push_line(text, "stopping", &ended, width);
    }
    if !summary.is_complete() {
        let progress = format!(
            "incomplete: {} of {} blocks were measured",
            summary.blocks_done, summary.blocks_total
        );
        push_line(text, "progress", &progress, width);
    }
}

fn sweeps(text: &mut String, report: &Report<'_>, width: u16) {
    for sweep in sweep::sweeps(report) {
        text.push('\n');
        push_line(text, sweep.name, &sweep.title, width);
        for arm in &sweep.arms {
            let result = format!("{}  {}", sweep::arm_name(report, arm), sweep::line(arm));
            push_line(text, "knee", &result, width);
        }
    }
}

fn append_scaling(text: &mut String, report: &Report<'_>, width: u16) {
    for curve in serving::curves(report) {
        let arm = report
            .plan
            .arms
            .get(curve.arm)
            .map_or("", |arm| arm.name.as_str());
        text.push('\n');
        let title = format!(
            "{arm} at {} with {} worker counts",
            format::size(curve.size_bytes),
            curve.points.len()
        );
        push_line(text, curve.name, &title, width);
        push_line(text, "scaling", &curve.line(), width);
    }
}

fn scenario(text: &mut String, report: &Report<'_>, index: usize, width: u16, color: bool) {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return;
    };
    let baseline = report.plan.arms.get(report.plan.baseline);
    let description = format!(
        "{}, change from {} [simultaneous {} % interval], margin {} %",
        labels::metric_title(&scenario.assignment.workload, scenario.primary),
        baseline.map_or("the baseline", |arm| arm.name.as_str()),
        report.plan.sampling.confidence_percent,
        report.plan.sampling.margin_percent
    );
    text.push('\n');
    push_line(text, &scenario.assignment.name, &description, width);
    text.push_str(&table::render(report, index, width, color));
    if let Some(values) = arm_values::table(report, index) {
        result_table::render(text, &values, width, color);
    }
    for lost in lost_rounds::of_scenario(report, index) {
        push_line(text, "lost", &lost, width);
    }
    if let Some(bounds) = overview::upper_bounds(report, index) {
        push_line(text, "bounds", &bounds, width);
    }
    if let Some(variance) = overview::variance(report, index) {
        push_line(text, "variance", &variance, width);
    }
    if let Some(tests) = isolated::of_scenario(report, index) {
        for table in &tests.tables {
            result_table::render(text, table, width, color);
        }
        if let Some((heading, counts)) = &tests.counts {
            push_line(text, heading, counts, width);
        }
    }
    for effect in factors::of_scenario(report, index).filter(|effect| effect.is_applicable()) {
        push_line(text, "factor", &factors::line(effect), width);
    }
    observations(text, report, index, width);
    if let Some(workers) = serving::workers(report, index) {
        result_table::render(text, &workers, width, color);
    }
    evidence::render(text, report, index, width);
}

/// Appends a line for each observation, except those of control arms. Round trips are omitted if the scenario has several
/// sizes, because they are twice the latencies in the table.
fn observations(text: &mut String, report: &Report<'_>, index: usize, width: u16) {
    let plan = report.plan;
    let has_several_sizes = plan
        .scenarios
        .get(index)
        .is_some_and(|scenario| scenario.sizes.len() > 1);
    for observation in observations::of_scenario(report, index) {
        let arm = plan.arms.get(observation.cell.arm);
        let Some(arm) = arm.filter(|arm| arm.control.is_none()) else {
            continue;
        };
        if observation.kind == ObservationKind::RoundTrip && has_several_sizes {
            continue;
        }
        let size = format::size(observation.cell.size_bytes);
        let line = format!("{} at {size}: {}", arm.name, observation.text);
        push_line(text, observation.kind.heading(), &line, width);
    }
}

fn expectations(text: &mut String, report: &Report<'_>, width: u16) {
    let answers = &report.evaluation.comparisons.expectations;
    if !answers.is_empty() {
        text.push('\n');
    }
    for answer in answers {
        let outcome = labels::expectation_outcome(answer);
        let result = format!("{}  ->  {outcome}: {}", answer.text, answer.reason);
        push_line(text, "expected", &result, width);
    }
}

fn warnings(text: &mut String, report: &Report<'_>, width: u16) {
    let warnings = &report.evaluation.summary.warnings;
    if !warnings.is_empty() {
        text.push('\n');
    }
    for warning in warnings.iter().take(MAX_WARNINGS) {
        push_line(text, "warning", warning, width);
    }
    if warnings.len() > MAX_WARNINGS {
        let more = format!(
            "{} more in the JSON and HTML reports",
            warnings.len() - MAX_WARNINGS
        );
        push_line(text, "warning", &more, width);
    }
}

/// Appends a line with `heading` and `content`, wrapped with a hanging indent.
pub(super) fn push_line(text: &mut String, heading: &str, content: &str, width: u16) {
    push_wrapped(text, &format!("  {heading:<8} "), content, width);
}

/// Appends `content` after `heading`, wrapped with a hanging indent. Both are made printable, because a style in them would
/// remain in the report.
pub(super) fn push_wrapped(text: &mut String, heading: &str, content: &str, width: u16) {
    let (heading, content) = (printable_on_one_line(heading), printable_on_one_line(content));
    let indent = heading.chars().count();
    let available = usize::from(width).saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in content.split(' ') {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= available {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let prefix = if index == 0 {
            heading.clone()
        } else {
            " ".repeat(indent)
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{prefix}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_long_lines_with_a_hanging_indent() {
        let mut text = String::new();
        push_line(&mut text, "fabric", &"four ".repeat(20), 60);
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.chars().count() <= 60));
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("           four"))
        );
    }
}
