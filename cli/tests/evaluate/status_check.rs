//! `fabricbench report` notices each value of the status in `run.json` that the records and the plan do not yield.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use campaign::status::{Phase, StatusInput, fit, status};
use crds::record::hex;
use crds::v1alpha1::RecordsReference;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::fixture::{Campaign, UID, run};

/// Number of values that one report names.
const SHOWN: usize = 5;
/// Values that are not compared, as docs/reports.md says, and those with an error of their own.
const NOT_COMPARED: [&str; 5] = [
    "observedGeneration",
    "conditions[].observedGeneration",
    "conditions[].lastTransitionTime",
    "records.sha256",
    "planHash",
];

/// Lists the values below `value`: the first one with each path without indexes, as JSON pointers.
fn first_values(value: &Value, pointer: &str, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let separator = if path.is_empty() { "" } else { "." };
                first_values(
                    value,
                    &format!("{pointer}/{name}"),
                    &format!("{path}{separator}{name}"),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                first_values(item, &format!("{pointer}/{index}"), &format!("{path}[]"), found);
            }
        }
        _ => {
            found.entry(path.to_owned()).or_insert_with(|| pointer.to_owned());
        }
    }
}

/// Another value of the same type that the schema accepts.
fn altered(path: &str, value: &Value) -> Value {
    match (path, value) {
        ("state", _) => json!("Running"),
        ("outcome", Value::String(outcome)) => json!(if outcome == "Passed" { "Missed" } else { "Passed" }),
        (_, Value::String(text)) if text == "Inconclusive" => json!("NoChange"),
        (_, Value::Bool(bool)) => json!(!bool),
        (_, Value::Number(number)) => json!(number.as_i64().unwrap() + 1),
        (_, other) => other.clone(),
    }
}

fn write_run(directory: &Path, status: &Value) {
    let mut run = serde_json::to_value(run()).unwrap();
    run["metadata"]["uid"] = json!(UID);
    run["status"] = status.clone();
    fs::write(
        directory.join("run.json"),
        serde_json::to_vec_pretty(&run).unwrap(),
    )
    .unwrap();
}

fn report(directory: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
    let output = command
        .arg("report")
        .arg(directory)
        .env("COLUMNS", "60000")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("planted"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn every_altered_value_of_the_status_is_named() {
    let campaign = Campaign {
        effects: [(("fi-inject", 64), 0.85)].into(),
        ..Campaign::default()
    };
    let evaluation = campaign.evaluation();
    let records = campaign.stream(1, &[]);
    let status = fit(status(&StatusInput {
        plan: &campaign.plan,
        phase: Phase::finished(&evaluation),
        evaluation: &evaluation,
        records: Some(RecordsReference {
            reference: "records.jsonl".to_owned(),
            sha256: hex(&Sha256::digest(&records)),
        }),
        generation: None,
        now: "2026-03-01T11:00:00Z",
        previous: None,
    }));
    let status = serde_json::to_value(status).unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("records.jsonl"), records).unwrap();
    write_run(directory.path(), &status);
    assert!(
        !report(directory.path()).contains("was changed"),
        "the status is intact"
    );

    let mut values = BTreeMap::new();
    first_values(&status, "", "", &mut values);
    values.retain(|path, _| !NOT_COMPARED.contains(&path.as_str()));
    let alterable: Vec<(String, String, Value)> = values
        .into_iter()
        .filter_map(|(path, pointer)| {
            let value = status.pointer(&pointer).unwrap();
            let altered = match altered(&path, value) {
                // Free text. A word of an enumeration has no spaces and would make the file invalid.
                Value::String(text)
                    if text.contains([' ', '/', '-', '.']) || path.starts_with("placement") =>
                {
                    json!(format!("{text} altered"))
                }
                altered => altered,
            };
            (altered != *value).then_some((path, pointer, altered))
        })
        .collect();
    let tops: BTreeSet<&str> = alterable
        .iter()
        .map(|(path, ..)| path.split(['.', '[']).next().unwrap())
        .collect();
    for top in [
        "conditions",
        "environment",
        "outcome",
        "placement",
        "progress",
        "results",
        "seed",
        "state",
        "verdict",
    ] {
        assert!(tops.contains(top), "{top} is not altered: {tops:?}");
    }
    for chunk in alterable.chunks(SHOWN) {
        let mut changed = status.clone();
        for (_, pointer, altered) in chunk {
            *changed.pointer_mut(pointer).unwrap() = altered.clone();
        }
        write_run(directory.path(), &changed);
        let text = report(directory.path());
        for (path, pointer, _) in chunk {
            let shown = pointer
                .split('/')
                .skip(1)
                .fold("status".to_owned(), |shown, part| match part.parse::<u32>() {
                    Ok(index) => format!("{shown}[{index}]"),
                    Err(_) => format!("{shown}.{part}"),
                });
            assert!(
                text.contains(&format!("{shown} is ")),
                "{path} ({shown}) is not noticed: {text}"
            );
        }
    }
    // Values that are removed or added are noticed as well.
    let mut changed = status.clone();
    changed["seed"] = Value::Null;
    write_run(directory.path(), &changed);
    assert!(report(directory.path()).contains("status.seed is unset"));
    let mut changed = status.clone();
    changed["records"] = Value::Null;
    write_run(directory.path(), &changed);
    let text = report(directory.path());
    assert!(
        text.contains("not trusted, because the records were changed"),
        "{text}"
    );
    assert!(text.contains("status.records was removed from"), "{text}");
    let mut changed = status.clone();
    changed["warnings"] = json!(["invented"]);
    write_run(directory.path(), &changed);
    assert!(report(directory.path()).contains("status.warnings"));
}
