//! The report as Markdown, short enough for a comment on a change: what changed, by how much and how surely.

use std::fmt::Write;

use crds::assignment::Workload;

use super::Report;
use super::words;
use crate::campaign::figures;
use crate::campaign::plan::PlannedScenario;

/// Warnings that are shown; the others are in the other formats.
const MAX_WARNINGS: usize = 5;

/// The report as Markdown, with a newline at its end.
pub fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    head(&mut text, report);
    for (index, scenario) in report.plan.scenarios.iter().enumerate() {
        table(&mut text, report, index, scenario);
    }
    expectations(&mut text, report);
    warnings(&mut text, report);
    text
}

/// Adds a line; writing to a String cannot fail.
fn line(text: &mut String, line: &str) {
    let _ = writeln!(text, "{line}");
}

fn head(text: &mut String, report: &Report<'_>) {
    let summary = &report.evaluation.summary;
    line(
        text,
        &format!(
            "### {}: {}\n",
            escaped(&report.plan.run),
            escaped(&report.evaluation.comparisons.verdict)
        ),
    );
    let mut setting = vec![words::transport(report)];
    setting.extend(words::setting(report));
    line(text, &format!("- {}", escaped(&setting.join(" · "))));
    line(
        text,
        &format!("- fabric {}", escaped(&words::fabric(summary.fabric.as_ref()))),
    );
    if let Some(floor) = words::noise_floor(report, None) {
        line(
            text,
            &format!("- noise within ±{floor:.1} % (control arm, all sizes)"),
        );
    }
    if !summary.complete() {
        line(
            text,
            &format!(
                "- **not complete**: {} of {} blocks",
                summary.blocks_done, summary.blocks_total
            ),
        );
    }
}

/// A row for each size, a column for each variant.
fn table(text: &mut String, report: &Report<'_>, index: usize, scenario: &PlannedScenario) {
    let plan = report.plan;
    let variants: Vec<_> = report.variants().collect();
    let ping_pong = matches!(scenario.assignment.workload, Workload::PingPong(_));
    let baseline = plan.arms.get(plan.baseline).map_or("", |arm| arm.name.as_str());
    line(
        text,
        &format!(
            "\n**{}**: {}, change against {} [interval; {} % for the whole table], margin {} %\n",
            escaped(&scenario.assignment.name),
            words::metric_title(ping_pong, scenario.primary),
            escaped(baseline),
            plan.sampling.confidence_percent,
            plan.sampling.margin_percent
        ),
    );
    let heads = variants.iter().map(|(_, arm)| arm.name.as_str());
    row(
        text,
        ["size", baseline].into_iter().chain(heads).map(str::to_owned),
    );
    row(
        text,
        (0..variants.len() + 2).map(|column| if column == 0 { "--:" } else { "---" }.to_owned()),
    );
    for size in &scenario.sizes {
        let answers = variants.iter().map(|(arm, _)| {
            let comparison = report
                .evaluation
                .comparisons
                .of(index, *size, *arm, scenario.primary);
            comparison.map_or_else(|| "not compared".to_owned(), |one| words::answer(one).line())
        });
        let measured = words::baseline(report, index, scenario, *size);
        row(text, [figures::size(*size), measured].into_iter().chain(answers));
    }
}

fn row(text: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.map(|cell| escaped(&cell)).collect();
    line(text, &format!("| {} |", cells.join(" | ")));
}

fn expectations(text: &mut String, report: &Report<'_>) {
    let answers = &report.evaluation.comparisons.expectations;
    if !answers.is_empty() {
        line(text, "");
    }
    for answer in answers {
        line(
            text,
            &format!(
                "- expected {}: **{}**: {}",
                escaped(&answer.text),
                words::outcome(answer),
                escaped(&answer.reason)
            ),
        );
    }
}

fn warnings(text: &mut String, report: &Report<'_>) {
    let warnings = &report.evaluation.summary.warnings;
    if !warnings.is_empty() {
        line(text, "");
    }
    for warning in warnings.iter().take(MAX_WARNINGS) {
        line(text, &format!("- warning: {}", escaped(warning)));
    }
    if warnings.len() > MAX_WARNINGS {
        line(
            text,
            &format!(
                "- {} more warnings in the other formats",
                warnings.len() - MAX_WARNINGS
            ),
        );
    }
}

/// `text` in one line, with nothing in it that would be markup.
fn escaped(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut escaped = String::with_capacity(flat.len());
    for character in flat.chars() {
        if matches!(character, '|' | '<' | '>' | '*' | '_' | '`' | '\\' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn words_of_a_run_are_never_markup() {
        assert_eq!(escaped("a|b\n<img> *c*"), "a\\|b \\<img\\> \\*c\\*");
    }
}
