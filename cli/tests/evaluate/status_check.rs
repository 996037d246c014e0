//! `fabricbench report` notices each value of the status in `run.json` that the records and the plan do not yield.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use campaign::status::Phase;
use crds::record::{Record, hex};
use crds::v1alpha1::RecordsReference;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::fixture::{Campaign, UID, run, stream_of};

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

/// Status of a complete local run, with its records.
fn complete() -> (Value, String) {
    let campaign = Campaign {
        effects: [(("fi-inject", 64), 0.85)].into(),
        ..Campaign::default()
    };
    let mut records = campaign.records(campaign.plan.legs.first().unwrap(), 1, &[]);
    for record in &mut records {
        if let Record::Hello(hello) = record {
            hello.environment.node = Some(format!("node-{}", hello.rank));
        }
    }
    let records = stream_of(&records);
    let evaluation = campaign.evaluation_of(run(), &records);
    let mut status = campaign.status(&evaluation, Phase::finished(&evaluation));
    status.records = Some(RecordsReference {
        reference: "records.jsonl".to_owned(),
        sha256: hex(&Sha256::digest(&records)),
    });
    (serde_json::to_value(status).unwrap(), records)
}

/// Alters each value of `status` in `directory`, except those with a path in `not_compared`, and checks that the report
/// names it. Returns the names of the fields with altered values.
fn assert_altered_values_are_named(
    directory: &Path,
    status: &Value,
    not_compared: &[&str],
) -> BTreeSet<String> {
    write_run(directory, status);
    let text = report(directory);
    assert!(!text.contains("was changed"), "the status is intact: {text}");
    let mut values = BTreeMap::new();
    first_values(status, "", "", &mut values);
    values.retain(|path, _| !not_compared.iter().any(|one| path.starts_with(one)));
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
    for chunk in alterable.chunks(SHOWN) {
        let mut changed = status.clone();
        for (_, pointer, altered) in chunk {
            *changed.pointer_mut(pointer).unwrap() = altered.clone();
        }
        write_run(directory, &changed);
        let text = report(directory);
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
    let tops = alterable
        .iter()
        .map(|(path, ..)| path.split(['.', '[']).next().unwrap().to_owned());
    tops.collect()
}

const ALTERED: [&str; 9] = [
    "conditions",
    "environment",
    "outcome",
    "placement",
    "progress",
    "results",
    "seed",
    "state",
    "verdict",
];

/// Checks in a new directory that each altered value is named, among them values of all fields in [`ALTERED`]. Returns the
/// directory.
fn altered_values_are_named(status: &Value, records: &str, not_compared: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("records.jsonl"), records).unwrap();
    let tops = assert_altered_values_are_named(directory.path(), status, not_compared);
    for top in ALTERED {
        assert!(tops.contains(top), "{top} is not altered: {tops:?}");
    }
    directory
}

#[test]
fn every_altered_value_of_the_status_is_named() {
    let (status, records) = complete();
    let directory = altered_values_are_named(&status, &records, &NOT_COMPARED);
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

/// Status of a complete run in a cluster, with what only the operator adds.
fn complete_in_cluster() -> (Value, String) {
    let (mut status, records) = complete();
    status["records"] = json!({"reference": "fabricbench-records", "sha256": "0"});
    status["execution"] = json!({
        "attempts": [{
            "leg": 0, "attempt": 1, "state": "Measured", "jobName": "job", "jobUid": "1", "createdAt": "2026-03-01T10:00:00Z",
        }],
        "finishedAt": "2026-03-01T11:00:00Z",
    });
    let warning = "the operator is not permitted to read nodes in this installation, so it did not check whether the nodes \
                   have zone labels and the resources that the workers request. Set placement.singleZone to false if the \
                   nodes have no zone labels";
    let mut warnings = status["warnings"].as_array().cloned().unwrap_or_default();
    warnings.insert(0, json!(warning));
    status["warnings"] = json!(warnings);
    let conditions = status["conditions"].as_array_mut().unwrap();
    conditions.push(json!({
        "type": "CleanupBlocked", "status": "False", "reason": "PodsDeleted", "message": "",
        "lastTransitionTime": "2026-03-01T11:00:00Z",
    }));
    (status, records)
}

const NOT_COMPARED_IN_CLUSTER: [&str; 7] = [
    "observedGeneration",
    "conditions[].observedGeneration",
    "conditions[].lastTransitionTime",
    "records",
    "planHash",
    "execution",
    // The only warning is that of the operator.
    "warnings",
];

#[test]
fn every_altered_value_of_the_status_of_a_run_in_a_cluster_is_named() {
    let (status, records) = complete_in_cluster();
    let directory = altered_values_are_named(&status, &records, &NOT_COMPARED_IN_CLUSTER);
    let noticed = |change: fn(&mut Value), expected: &str| {
        let mut changed = status.clone();
        change(&mut changed);
        write_run(directory.path(), &changed);
        let text = report(directory.path());
        assert!(text.contains(expected), "{expected}: {text}");
    };
    noticed(
        |status| status["placement"] = Value::Null,
        "status.placement is unset",
    );
    noticed(
        |status| {
            let conditions = status["conditions"].as_array_mut().unwrap();
            let complete = conditions
                .iter_mut()
                .find(|one| one["type"] == "Complete")
                .unwrap();
            complete["status"] = json!("False");
        },
        "status.conditions[3].status is \"False\"",
    );
    noticed(
        |status| {
            let conditions = status["conditions"].as_array_mut().unwrap();
            let failed = conditions.iter_mut().find(|one| one["type"] == "Failed").unwrap();
            failed["status"] = json!("True");
        },
        "status.conditions[4].status is \"True\"",
    );
    noticed(
        |status| status["warnings"].as_array_mut().unwrap().push(json!("invented")),
        "is \"invented\", but the records yield unset",
    );
}

/// The nodes of a run whose Job had its pods on other nodes than the list of the records, in another order.
#[test]
fn what_only_the_operator_knows_causes_no_warning() {
    let (status, records) = complete_in_cluster();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("records.jsonl"), records).unwrap();
    let intact = |change: fn(&mut Value)| {
        let mut changed = status.clone();
        change(&mut changed);
        write_run(directory.path(), &changed);
        let text = report(directory.path());
        assert!(!text.contains("was changed"), "{text}");
    };
    intact(|status| status["placement"]["nodes"].as_array_mut().unwrap().reverse());
    intact(|status| status["conditions"].as_array_mut().unwrap().truncate(5));
    intact(|status| _ = status.as_object_mut().unwrap().remove("warnings"));
    // All blocks were measured, but the operator could not store something, or a deadline had passed.
    intact(|status| {
        status["state"] = json!("Failed");
        let done = status["progress"]["text"].as_str().unwrap().replace('/', " of ");
        for condition in status["conditions"].as_array_mut().unwrap() {
            let (kind, fields) = match condition["type"].as_str().unwrap() {
                "Complete" => (
                    "False",
                    ["BlocksMissing".to_owned(), format!("{done} blocks measured")],
                ),
                "Failed" => (
                    "True",
                    ["DeadlineExceeded", "the run was active for too long"].map(str::to_owned),
                ),
                _ => continue,
            };
            condition["status"] = json!(kind);
            condition["reason"] = json!(fields[0]);
            condition["message"] = json!(fields[1]);
        }
    });
}
