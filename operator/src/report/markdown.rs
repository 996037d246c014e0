//! The report as Markdown, short enough for a comment on a change: what changed, by how much and how surely.

use std::fmt::Write;

use crds::assignment::Workload;

use super::Report;
use super::words;
use crate::campaign::format;
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
    line(text, &format!("- noise {}", escaped(&words::noise(report, None))));
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
                .find(index, *size, *arm, scenario.primary);
            comparison.map_or_else(|| "not compared".to_owned(), |one| words::answer(one).line())
        });
        let measured = words::baseline(report, index, scenario, *size).line();
        row(text, [format::size(*size), measured].into_iter().chain(answers));
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

/// `text` in one line, with nothing in it that would be markup, notify anybody or become a link.
fn escaped(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        // A backslash does not hide a pipe from a table within code, so no code has one.
        let pieces = word.split('|').map(piece);
        pieces.collect::<Vec<_>>().join("\\|")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A part of a word, as code where a backslash would not help: names, numbers, addresses and formulas are looked for in
/// what escaping leaves.
fn piece(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let found_later = text.contains(['@', '#', '$']) || lower.contains("://") || lower.contains("www.");
    match found_later {
        true => code(text),
        false => text.chars().flat_map(plain).collect(),
    }
}

/// `character` with a backslash where it could be markup.
fn plain(character: char) -> impl Iterator<Item = char> {
    let special = matches!(
        character,
        '<' | '>' | '*' | '_' | '`' | '\\' | '[' | ']' | '~' | '&'
    );
    special.then_some('\\').into_iter().chain([character])
}

/// `text` as code: between more backticks than it has in a row, and away from them.
fn code(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    let room = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{text}{room}{fence}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::escaped;

    #[test]
    fn words_of_a_run_are_never_markup() {
        assert_eq!(escaped("a|b\n<img> *c*"), "a\\|b \\<img\\> \\*c\\*");
        assert_eq!(escaped("ask @org/team, see #12"), "ask `@org/team,` see `#12`");
        assert_eq!(escaped("`@a`|b ~x~ &lt;"), "`` `@a` ``\\|b \\~x\\~ \\&lt;");
        assert_eq!(escaped("at https://x.example/a_b"), "at `https://x.example/a_b`");
    }

    /// What a reader of Markdown sees: the text outside code, without its backslashes, and all of it.
    fn read(markdown: &str) -> (String, String) {
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
                    // Code ends at the next run of as many backticks, neither more nor fewer.
                    let mut end = 0;
                    loop {
                        end += inside[end..].find('`').expect("code ends");
                        let run = inside[end..].len() - inside[end..].trim_start_matches('`').len();
                        if run == fence {
                            break;
                        }
                        end += run;
                    }
                    let said = &inside[..end];
                    assert!(!said.contains('|'), "a table would end here: {markdown}");
                    let stripped = said.strip_prefix(' ').and_then(|said| said.strip_suffix(' '));
                    all.push_str(stripped.unwrap_or(said));
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
        fn nothing_special_is_left_and_nothing_is_lost(text in r"([a-cA-C:/.!^$#@~&<>*_`\\|\[\]\n -]|www\.|https?://|é){0,40}") {
            let (outside, all) = read(&escaped(&text));
            let flat: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(all, flat.join(" "));
            prop_assert!(!outside.contains(['@', '#', '$']), "{}", outside);
            prop_assert!(!outside.contains("://") && !outside.contains("www."), "{}", outside);
        }
    }
}
