//! Markdown report, short enough for a comment on a pull request: the changes with their intervals.

use std::fmt::Write;

use campaign::format;
use campaign::plan::PlannedScenario;
use crds::printable::printable;

use super::comparison::{BaselineText, ComparisonText};
use super::result_table::ResultTable;
use super::{
    Report, arm_values, differences, factors, isolated, labels, lost_rounds, noise, overview, serving,
    stopping, sweep,
};

/// Maximum number of warnings shown. The JSON and HTML reports contain all of them.
const MAX_WARNINGS: usize = 5;

/// Renders the report as Markdown with a final newline.
pub fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    head(&mut text, report);
    sweeps(&mut text, report);
    append_scaling(&mut text, report);
    for (index, scenario) in report.plan.scenarios.iter().enumerate() {
        table(&mut text, report, index, scenario);
        if let Some(values) = arm_values::table(report, index) {
            result_table(&mut text, scenario, &values);
        }
        lost_rounds(&mut text, report, index);
        isolated_tests(&mut text, report, index, scenario);
        factor_effects(&mut text, report, index, scenario);
        environment(&mut text, report, index, scenario);
        if let Some(workers) = serving::workers(report, index) {
            result_table(&mut text, scenario, &workers);
        }
    }
    expectations(&mut text, report);
    warnings(&mut text, report);
    printable(&text).into_owned()
}

/// Appends a line.
pub(super) fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

fn head(text: &mut String, report: &Report<'_>) {
    let summary = &report.evaluation.summary;
    line(
        text,
        &format!(
            "### {}: {}\n",
            escape(&report.plan.run),
            escape(&report.evaluation.comparisons.verdict)
        ),
    );
    let mut settings = vec![overview::transport(report)];
    settings.extend(overview::settings(report));
    line(text, &format!("- {}", escape(&settings.join(" · "))));
    line(
        text,
        &format!("- fabric {}", escape(&overview::fabric(summary.fabric.as_ref()))),
    );
    for obtained in &summary.environment.claims {
        line(text, &format!("- claims {}", escape(obtained)));
    }
    line(text, &format!("- noise {}", escape(&noise::floor(report, None))));
    if let Some(noise) = noise::above_margin(report) {
        line(text, &format!("- **noisy**: {}", escape(&noise)));
    }
    for (heading, counts) in isolated::run_lines(report) {
        line(text, &format!("- {heading} {}", escape(&counts)));
    }
    if let Some(ended) = stopping::ended_text(report) {
        line(text, &format!("- stopping {}", escape(&ended)));
    }
    if !summary.is_complete() {
        line(
            text,
            &format!(
                "- **incomplete**: {} of {} blocks were measured",
                summary.blocks_done, summary.blocks_total
            ),
        );
    }
}

/// Appends a table with a row for each worker count of each arm.
fn append_scaling(text: &mut String, report: &Report<'_>) {
    let curves = serving::curves(report);
    if curves.is_empty() {
        return;
    }
    line(text, "\n**Scaling with the number of workers**\n");
    let heads = [
        "scenario",
        "size",
        "arm",
        "workers",
        "lag",
        "used after",
        "push",
        "rate",
    ];
    row(text, heads.map(str::to_owned).into_iter());
    row(text, ["---"; 8].map(str::to_owned).into_iter());
    for curve in &curves {
        let arm = report
            .plan
            .arms
            .get(curve.arm)
            .map_or("", |arm| arm.name.as_str());
        for point in &curve.points {
            let cells = [
                curve.name.to_owned(),
                format::size(curve.size_bytes),
                arm.to_owned(),
                point.workers.to_string(),
                point.lag(),
                point.latency().unwrap_or_default(),
                point.push_time().unwrap_or_default(),
                point.rate().unwrap_or_default(),
            ];
            row(text, cells.into_iter());
        }
    }
}

/// Appends a table for each sweep with a row for each arm.
fn sweeps(text: &mut String, report: &Report<'_>) {
    for sweep in sweep::sweeps(report) {
        line(text, &format!("\n**{}**: {}\n", escape(sweep.name), sweep.title));
        row(
            text,
            ["arm", "sustained", "capacity"].map(str::to_owned).into_iter(),
        );
        row(text, ["---"; 3].map(str::to_owned).into_iter());
        for arm in &sweep.arms {
            let capacity = sweep::capacity(arm).unwrap_or_else(|| "not reached".to_owned());
            let name = sweep::arm_name(report, arm).to_owned();
            row(text, [name, arm.describe(), capacity].into_iter());
        }
    }
}

/// Appends a table for each section of the isolated processes' tests, and the counts.
fn isolated_tests(text: &mut String, report: &Report<'_>, index: usize, scenario: &PlannedScenario) {
    let Some(tests) = isolated::of_scenario(report, index) else {
        return;
    };
    for table in &tests.tables {
        result_table(text, scenario, table);
    }
    if let Some((_, counts)) = &tests.counts {
        line(text, &format!("\n{}", escape(counts)));
    }
}

/// Appends an item for each arm that lost rounds.
fn lost_rounds(text: &mut String, report: &Report<'_>, index: usize) {
    let lost = lost_rounds::of_scenario(report, index);
    if !lost.is_empty() {
        line(text, "");
    }
    for lost in lost {
        line(text, &format!("- lost rounds: {}", escape(&lost)));
    }
}

/// Appends a table of results in `scenario`.
fn result_table(text: &mut String, scenario: &PlannedScenario, table: &ResultTable) {
    let name = escape(&scenario.assignment.name);
    line(text, &format!("\n**{name}**: {}\n", table.title));
    row(text, table.columns.iter().map(|title| (*title).to_owned()));
    row(text, table.columns.iter().map(|_| "---".to_owned()));
    for cells in &table.rows {
        row(text, cells.iter().cloned());
    }
    for note in &table.notes {
        line(text, &format!("\n{}", escape(note)));
    }
}

/// Appends a table with a row for each environment variable, library and image in which an arm differs from the baseline.
fn environment(text: &mut String, report: &Report<'_>, index: usize, scenario: &PlannedScenario) {
    let found = differences::of_scenario(report, index);
    if found.is_empty() {
        return;
    }
    let name = escape(&scenario.assignment.name);
    line(
        text,
        &format!("\n**{name}**: did the environments take effect?\n"),
    );
    let heads = ["arm", "difference", "evidence"];
    row(text, heads.map(str::to_owned).into_iter());
    row(text, ["---"; 3].map(str::to_owned).into_iter());
    for difference in found {
        row(text, difference_cells(&difference).into_iter());
    }
}

/// Cells of the row for one difference, without escapes: [`row`] adds them.
fn difference_cells(difference: &differences::ArmDifference<'_>) -> [String; 3] {
    [
        difference.arm.to_owned(),
        difference.evidence.subject.clone(),
        difference.description(),
    ]
}

/// Appends a table with a row for each factor effect in a scenario.
fn factor_effects(text: &mut String, report: &Report<'_>, index: usize, scenario: &PlannedScenario) {
    let mut effects = factors::of_scenario(report, index).peekable();
    if effects.peek().is_none() {
        return;
    }
    let name = escape(&scenario.assignment.name);
    line(text, &format!("\n**{name}**: effects of the factors\n"));
    let heads = ["size", "effect", "change", "verdict"];
    row(text, heads.map(str::to_owned).into_iter());
    row(text, ["---"; 4].map(str::to_owned).into_iter());
    for effect in effects {
        let cells = [
            format::size(effect.size_bytes),
            factors::name(effect),
            factors::change(effect),
            factors::verdict(effect),
        ];
        row(text, cells.into_iter());
    }
}

/// Appends a table with a row for each size and a column for each variant.
fn table(text: &mut String, report: &Report<'_>, index: usize, scenario: &PlannedScenario) {
    let plan = report.plan;
    let variants: Vec<_> = report.variants().collect();
    let baseline = plan.arms.get(plan.baseline).map_or("", |arm| arm.name.as_str());
    line(
        text,
        &format!(
            "\n**{}**: {}, change from {} [simultaneous {} % interval], margin {} %\n",
            escape(&scenario.assignment.name),
            labels::metric_title(&scenario.assignment.workload, scenario.primary),
            escape(baseline),
            plan.sampling.confidence_percent,
            plan.sampling.margin_percent
        ),
    );
    let headers = variants.iter().map(|(_, arm)| arm.name.as_str());
    row(
        text,
        ["size", baseline].into_iter().chain(headers).map(str::to_owned),
    );
    row(
        text,
        (0..variants.len() + 2).map(|column| if column == 0 { "--:" } else { "---" }.to_owned()),
    );
    for size in &scenario.sizes {
        let results = variants.iter().map(|(arm, _)| {
            let comparison = report
                .evaluation
                .comparisons
                .find(index, *size, *arm, scenario.primary);
            comparison.map_or_else(
                || "not compared".to_owned(),
                |one| ComparisonText::with_emulation_mark(report, one).line(),
            )
        });
        let measured = BaselineText::new(report, index, scenario, *size).line();
        row(text, [format::size(*size), measured].into_iter().chain(results));
    }
}

/// Appends a row of a table. It escapes the cells, so that callers must not.
pub(super) fn row(text: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.map(|cell| escape(&cell)).collect();
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
                "- expectation {}: **{}**: {}",
                escape(&answer.text),
                labels::expectation_outcome(answer),
                escape(&answer.reason)
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
        line(text, &format!("- warning: {}", escape(warning)));
    }
    if warnings.len() > MAX_WARNINGS {
        line(
            text,
            &format!(
                "- {} more warnings in the JSON and HTML reports",
                warnings.len() - MAX_WARNINGS
            ),
        );
    }
}

/// Converts `text` to one line, escaped so that it contains no markup, mention or link.
pub(super) fn escape(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        // A pipe ends a table cell even inside code, and outside a table, a backslash before it would be visible. Code
        // therefore never contains a pipe.
        let pieces = word.split('|').map(escaped_part);
        pieces.collect::<Vec<_>>().join("\\|")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Escapes part of a word.
///
/// The part becomes code if escaping is not sufficient: mentions, issue numbers, URLs and formulas are detected after
/// backslash escapes are resolved.
fn escaped_part(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let detected_after_escaping =
        text.contains(['@', '#', '$']) || lower.contains("://") || lower.contains("www.");
    match detected_after_escaping {
        true => code(text),
        false => text.chars().flat_map(escaped_character).collect(),
    }
}

/// Returns `character`, preceded by a backslash if it could be markup.
fn escaped_character(character: char) -> impl Iterator<Item = char> {
    let special = matches!(
        character,
        '<' | '>' | '*' | '_' | '`' | '\\' | '[' | ']' | '~' | '&'
    );
    special.then_some('\\').into_iter().chain([character])
}

/// Formats `text` as code, delimited by a run of backticks that is longer than any run in the text.
///
/// Spaces separate the text from the delimiters if it starts or ends with a backtick.
fn code(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    let padding = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{padding}{text}{padding}{fence}")
}

#[cfg(test)]
mod tests {
    use campaign::summarize::{DifferenceEvidence, DifferenceFinding};
    use crds::v1alpha1::Engagement;
    use proptest::prelude::*;

    use super::{difference_cells, differences::ArmDifference, escape, row};

    #[test]
    fn escapes_the_difference_of_an_arm_once() {
        let evidence = DifferenceEvidence {
            subject: "FI_OFI_RXM=1".to_owned(),
            finding: DifferenceFinding::Known,
            engagement: Engagement::Confirmed,
            reason: "libfabric reads FI_OFI_RXM".to_owned(),
        };
        let difference = ArmDifference {
            arm: "an_arm",
            evidence: &evidence,
        };
        let mut text = String::new();
        row(&mut text, difference_cells(&difference).into_iter());
        let expected = r"| an\_arm | FI\_OFI\_RXM=1 | Known, Confirmed: libfabric reads FI\_OFI\_RXM |";
        assert_eq!(text.trim_end(), expected);
    }

    #[test]
    fn escapes_markup_mentions_and_links() {
        assert_eq!(escape("a|b\n<img> *c*"), "a\\|b \\<img\\> \\*c\\*");
        assert_eq!(escape("ask @org/team, see #12"), "ask `@org/team,` see `#12`");
        assert_eq!(escape("`@a`|b ~x~ &lt;"), "`` `@a` ``\\|b \\~x\\~ \\&lt;");
        assert_eq!(escape("at https://x.example/a_b"), "at `https://x.example/a_b`");
    }

    /// Renders `markdown`. Returns the text outside code, and the whole text, both without escapes.
    fn render(markdown: &str) -> (String, String) {
        let (mut outside, mut all) = (String::new(), String::new());
        let mut rest = markdown;
        while let Some(first) = rest.chars().next() {
            let taken = match first {
                '\\' => {
                    let escaped = rest[1..].chars().next().expect("a character after a backslash");
                    assert!(escaped.is_ascii_punctuation());
                    all.push(escaped);
                    outside.push(escaped);
                    2
                }
                '`' => {
                    let fence = rest.len() - rest.trim_start_matches('`').len();
                    let inside = &rest[fence..];
                    // Code ends at the next run of exactly as many backticks.
                    let mut end = 0;
                    loop {
                        end += inside[end..].find('`').expect("code ends");
                        let run = inside[end..].len() - inside[end..].trim_start_matches('`').len();
                        if run == fence {
                            break;
                        }
                        end += run;
                    }
                    let code = &inside[..end];
                    assert!(!code.contains('|'), "a table cell would end here: {markdown}");
                    let stripped = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
                    all.push_str(stripped.unwrap_or(code));
                    outside.push('\u{fffc}');
                    fence + end + fence
                }
                special if "|<>*_[]~&".contains(special) => panic!("{special} in {markdown}"),
                other => {
                    all.push(other);
                    outside.push(other);
                    other.len_utf8()
                }
            };
            rest = &rest[taken..];
        }
        (outside, all)
    }

    proptest! {
        #[test]
        fn escapes_markup_without_losing_text(text in r"([a-cA-C:/.!^$#@~&<>*_`\\|\[\]\n -]|www\.|https?://|é){0,40}") {
            let (outside, all) = render(&escape(&text));
            let flat: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(all, flat.join(" "));
            prop_assert!(!outside.contains(['@', '#', '$']), "{}", outside);
            prop_assert!(!outside.contains("://") && !outside.contains("www."), "{}", outside);
        }
    }
}
