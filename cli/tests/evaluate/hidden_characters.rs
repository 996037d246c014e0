//! No output contains a character that a terminal or a browser obeys, or that is not displayed, even if records contain it.

use campaign::collect::collect;
use campaign::evaluate;
use campaign::status::{Phase, StatusInput, fit, status};
use crds::printable::is_hidden;
use crds::record::Record;
use crds::v1alpha1::BenchmarkRun;
use fabricbench_cli::report::text::TextOptions;
use fabricbench_cli::report::{Report, csv, html, json, junit, markdown, openmetrics, text};
use serde_json::Value;

use crate::fixture::{Campaign, UID, run, stream_of};

/// Clears the screen, in 7-bit and in 8-bit form, reverses the writing direction and hides itself.
const HOSTILE: &str = "\u{1b}[2J\u{9b}2J\u{202e}\u{200b}\u{7}\r";
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
fn hidden_string(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => hidden(text, &['\n', '\t']).map(|_| text.as_str()),
        Value::Array(items) => items.iter().find_map(hidden_string),
        Value::Object(fields) => fields.values().find_map(hidden_string),
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
    let written = fit(status(&StatusInput {
        plan: &campaign.plan,
        phase: Phase::Failed {
            reason: crds::v1alpha1::Reason::NothingMeasured,
            message: format!("the worker said {HOSTILE}"),
        },
        evaluation: &evaluation,
        records: None,
        generation: None,
        now: "2026-03-01T11:00:00Z",
        previous: None,
    }));
    let value = serde_json::to_value(&written).unwrap();
    assert_eq!(hidden_string(&value), None);
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
    let outputs = [
        ("text", text::render(&report, &TextOptions::default())),
        ("markdown", markdown::render(&report)),
        ("html", html::render(&report).unwrap()),
        ("csv", csv::render(&report).unwrap()),
        ("junit", junit::render(&report).unwrap()),
        ("openmetrics", openmetrics::render(&run, &report).unwrap()),
        ("json", json::render(&report).unwrap()),
    ];
    for (format, output) in &outputs {
        assert_eq!(hidden(output, &['\n', '\t']), None, "{format}");
        // These formats show the environment.
        let shows_host = output.contains("Xeon") || !["html", "json", "openmetrics"].contains(format);
        assert!(shows_host, "{format} does not show the text of the records");
    }
    let styled = text::render(&report, &styled);
    assert_eq!(hidden(&styled, &['\n', '\t', '\u{1b}']), None);
    assert!(!styled.contains("\u{1b}[2J"));
    // JSON escapes the characters without changing the values.
    let (_, json) = outputs.last().unwrap();
    let document: Value = serde_json::from_str(json).unwrap();
    let workers = document["environment"]["workers"].as_array().unwrap();
    let model = workers[0]["hello"]["environment"]["cpuModel"].as_str().unwrap();
    assert!(model.ends_with(HOSTILE), "{model:?}");
}
