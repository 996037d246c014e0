//! The report for a terminal: answers first, every empty cell with its reason.

mod evidence;
mod table;

use std::fmt::Write;

use crds::assignment::Workload;

use super::{Report, words};
use crate::campaign::format;

/// Width where the output is no terminal.
pub const DEFAULT_WIDTH: u16 = 132;
/// Narrowest width that is used.
pub const MIN_WIDTH: u16 = 60;
/// Warnings that are shown; the others are in the other formats.
const MAX_WARNINGS: usize = 10;
/// Longest line of a warning, in characters.
const MAX_WARNING: usize = 300;

/// How it is shown.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions<'a> {
    /// Columns.
    pub width: u16,
    /// Whether verdicts are coloured.
    pub color: bool,
    /// Where the full report is, if it was written.
    pub full_report: Option<&'a str>,
    /// What the run does or why it ended early, where its status says so.
    pub standing: Option<&'a str>,
}

impl Default for TextOptions<'_> {
    fn default() -> Self {
        Self {
            width: DEFAULT_WIDTH,
            color: false,
            full_report: None,
            standing: None,
        }
    }
}

/// The report as text, with a newline at its end.
pub fn render(report: &Report<'_>, options: &TextOptions<'_>) -> String {
    let width = options.width.max(MIN_WIDTH);
    let mut text = String::new();
    head(&mut text, report, options.standing, width);
    for index in 0..report.plan.scenarios.len() {
        scenario(&mut text, report, index, width, options.color);
    }
    expectations(&mut text, report, width);
    warnings(&mut text, report, width);
    if let Some(place) = options.full_report {
        line(&mut text, "report", place, width);
    }
    text
}

fn head(text: &mut String, report: &Report<'_>, standing: Option<&str>, width: u16) {
    let mut title = vec![words::transport(report)];
    title.extend(words::setting(report));
    wrapped(
        text,
        &format!("{}   ", report.plan.run),
        &title.join(" · "),
        width,
    );
    if let Some(standing) = standing {
        line(text, "state", standing, width);
    }
    let summary = &report.evaluation.summary;
    line(text, "fabric", &words::fabric(summary.fabric.as_ref()), width);
    if let Some(libraries) = words::libraries(report) {
        line(text, "library", &libraries, width);
    }
    line(text, "noise", &words::noise(report, None), width);
    line(text, "verdict", &report.evaluation.comparisons.verdict, width);
    if !summary.complete() {
        let missing = format!(
            "{} of {} blocks: not complete",
            summary.blocks_done, summary.blocks_total
        );
        line(text, "progress", &missing, width);
    }
}

fn scenario(text: &mut String, report: &Report<'_>, index: usize, width: u16, color: bool) {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return;
    };
    let ping_pong = matches!(scenario.assignment.workload, Workload::PingPong(_));
    let baseline = report.plan.arms.get(report.plan.baseline);
    let about = format!(
        "{}, change against {} [interval; {} % for the whole table], margin {} %",
        words::metric_title(ping_pong, scenario.primary),
        baseline.map_or("the baseline", |arm| arm.name.as_str()),
        report.plan.sampling.confidence_percent,
        report.plan.sampling.margin_percent
    );
    text.push('\n');
    line(text, &scenario.assignment.name, &about, width);
    text.push_str(&table::render(report, index, width, color));
    evidence::render(text, report, index, width);
}

fn expectations(text: &mut String, report: &Report<'_>, width: u16) {
    let answers = &report.evaluation.comparisons.expectations;
    if !answers.is_empty() {
        text.push('\n');
    }
    for answer in answers {
        let outcome = words::outcome(answer);
        let said = format!("{}  ->  {outcome}: {}", answer.text, answer.reason);
        line(text, "expected", &said, width);
    }
}

fn warnings(text: &mut String, report: &Report<'_>, width: u16) {
    let warnings = &report.evaluation.summary.warnings;
    if !warnings.is_empty() {
        text.push('\n');
    }
    for warning in warnings.iter().take(MAX_WARNINGS) {
        let flat = warning.split_whitespace().collect::<Vec<_>>().join(" ");
        line(text, "warning", &format::clipped(&flat, MAX_WARNING), width);
    }
    if warnings.len() > MAX_WARNINGS {
        let more = format!("{} more in the other formats", warnings.len() - MAX_WARNINGS);
        line(text, "warning", &more, width);
    }
}

/// A line with its heading, wrapped and indented under itself.
fn line(text: &mut String, heading: &str, said: &str, width: u16) {
    wrapped(text, &format!("  {heading:<8} "), said, width);
}

fn wrapped(text: &mut String, heading: &str, said: &str, width: u16) {
    let indent = heading.chars().count();
    let room = usize::from(width).saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in said.split(' ') {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let start = if index == 0 {
            heading.to_owned()
        } else {
            " ".repeat(indent)
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{start}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_under_themselves() {
        let mut text = String::new();
        line(&mut text, "fabric", &"four ".repeat(20), 60);
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.chars().count() <= 60));
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("           four"))
        );
    }
}
