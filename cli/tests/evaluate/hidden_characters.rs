//! No output contains a character that a terminal or a browser obeys, or that is not displayed, even if records contain it.

use campaign::collect::collect;
use campaign::evaluate;
use campaign::status::Phase;
use crds::printable::is_hidden;
use crds::record::Record;
use crds::v1alpha1::BenchmarkRun;
use fabricbench_cli::report::text::TextOptions;
use fabricbench_cli::report::{Report, text};
use serde_json::Value;

use crate::fixture::{Campaign, UID, outputs, run, stream_of};

/// Clears the screen, in 7-bit and in 8-bit form, reverses the writing direction, hides itself, and conceals the text that
/// follows, with the kind of sequence that styles verdicts.
const HOSTILE: &str = "\u{1b}[2J\u{9b}2J\u{202e}\u{200b}\u{7}\r\u{1b}[8m\u{1b}[41m";
/// A line that looks like one of the report, and markup that a browser obeys.
const FORGED: &str =
    "\n  verdict  fi-inject is better<script>alert(1)</script><img src=x onerror=alert(1)>\n# HELP x y";
/// Fields of a record in which a worker reports text of its own choice.
const FREE_TEXT: [&str; 10] = [
    "kernel",
    "cpuModel",
    "hostname",
    "source",
    "version",
    "apiVersion",
    "path",
    "message",
    "progress",
    "FI_LOG_LEVEL",
];

/// Appends [`HOSTILE`] to the text in `value`, and returns the number of changed fields.
fn make_hostile(value: &mut Value) -> usize {
    match value {
        Value::Array(items) => items.iter_mut().map(make_hostile).sum(),
        Value::Object(fields) => fields
            .iter_mut()
            .map(|(name, value)| match value {
                Value::String(text) if FREE_TEXT.contains(&name.as_str()) => {
                    text.push_str(HOSTILE);
                    text.push_str(FORGED);
                    1
                }
                other => make_hostile(other),
            })
            .sum(),
        _ => 0,
    }
}

/// The first character of `text` that must not be there.
fn hidden(text: &str, allowed: &[char]) -> Option<char> {
    text.chars()
        .find(|character| is_hidden(*character) && !allowed.contains(character))
}

/// The first string below `value` with a character that must not be there.
fn hidden_string<'a>(value: &'a Value, allowed: &[char]) -> Option<&'a str> {
    match value {
        Value::String(text) => hidden(text, allowed).map(|_| text.as_str()),
        Value::Array(items) => items.iter().find_map(|item| hidden_string(item, allowed)),
        Value::Object(fields) => fields.values().find_map(|field| hidden_string(field, allowed)),
        _ => None,
    }
}

#[test]
fn no_output_contains_hidden_characters_of_records() {
    let campaign = Campaign::default();
    let mut changed = 0;
    let records = campaign.records(&campaign.plan.legs[0], 1, &[]);
    let records: Vec<Record> = records
        .iter()
        .map(|record| {
            let mut value = serde_json::to_value(record).unwrap();
            changed += make_hostile(&mut value);
            serde_json::from_value(value).unwrap()
        })
        .collect();
    assert!(changed > 30, "{changed}");
    let stream = stream_of(&records);
    let evaluation = evaluate(&campaign.plan, &collect(&campaign.plan, UID, stream.as_bytes())).unwrap();
    assert_eq!(evaluation.summary.blocks_done, evaluation.summary.blocks_total);
    let phase = Phase::Failed {
        reason: crds::v1alpha1::Reason::NothingMeasured,
        message: format!("the worker said {HOSTILE}{FORGED}"),
    };
    let written = campaign.status(&evaluation, phase);
    let value = serde_json::to_value(&written).unwrap();
    assert_eq!(hidden_string(&value, &[]), None, "not even a line feed");
    assert!(
        value.to_string().contains(r"\\u{202e}"),
        "the text is escaped, not lost"
    );

    let report = Report {
        plan: &campaign.plan,
        evaluation: &evaluation,
    };
    let run = BenchmarkRun {
        status: Some(written),
        ..run()
    };
    let styled = TextOptions {
        color: true,
        ..TextOptions::default()
    };
    let outputs = outputs(&run, &report);
    for (format, output) in &outputs {
        assert_eq!(hidden(output, &['\n', '\t']), None, "{format}");
        // These formats show the environment.
        let shows_host = output.contains("Xeon") || !["html", "json", "openmetrics"].contains(format);
        assert!(shows_host, "{format} does not show the text of the records");
    }
    let styled = text::render(&report.document(), &styled);
    assert_eq!(hidden(&styled, &['\n', '\t', '\u{1b}']), None);
    let foreign = ["\u{1b}[2J", "\u{1b}[8m", "\u{1b}[41m"];
    assert!(styled.contains("\u{1b}["), "verdicts are styled");
    assert!(foreign.iter().all(|style| !styled.contains(style)), "{styled}");
    for text in [&styled, &outputs[0].1] {
        let verdicts: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("  verdict"))
            .collect();
        assert_eq!(verdicts.len(), 1, "{text}");
    }
    for (format, output) in &outputs {
        // Markdown escapes the start of an element with a backslash.
        let markup = output.replace("\\<", "");
        let is_markup = ["html", "markdown", "junit"].contains(format);
        assert!(!is_markup || !markup.contains("<script>alert"), "{format}");
        assert!(!is_markup || !markup.contains("<img"), "{format}");
        // Line feeds have no meaning within an element of HTML.
        let is_forged = output.lines().any(|line| line.starts_with("# HELP x"));
        assert!(!is_forged || *format == "html", "{format}");
    }
    // JSON escapes the characters without changing the values.
    let (_, json) = outputs.iter().find(|(format, _)| *format == "json").unwrap();
    let document: Value = serde_json::from_str(json).unwrap();
    let workers = document["environment"]["workers"].as_array().unwrap();
    let model = workers[0]["hello"]["environment"]["cpuModel"].as_str().unwrap();
    assert!(model.ends_with(&format!("{HOSTILE}{FORGED}")), "{model:?}");
}

/// Names of files and arguments, which a shell may have replaced by names of files.
#[test]
fn no_error_contains_hidden_characters_of_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let hostile = directory.path().join(format!("run{HOSTILE}"));
    std::fs::create_dir(&hostile).unwrap();
    let option = format!("--x{HOSTILE}");
    for arguments in [
        vec!["report", hostile.to_str().unwrap()],
        vec!["plan", hostile.to_str().unwrap()],
        vec!["compare", hostile.to_str().unwrap(), hostile.to_str().unwrap()],
        vec!["report", &option],
        vec!["report", "--format", &option[2..]],
        vec![&option],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fabricbench"));
        let output = command.args(&arguments).output().unwrap();
        assert_ne!(output.status.code(), Some(0));
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(hidden(&text, &['\n', '\t']), None, "{text:?}");
        assert!(text.contains(r"\u{202e}"), "the argument is shown: {text}");
    }
}
