//! Records with values that no runner writes, of one variant: whatever its image or its library writes, the evaluation and
//! every output end with a result, in which no number is infinite or undefined.

use std::collections::BTreeSet;
use std::panic::catch_unwind;

use campaign::collect::collect;
use campaign::evaluate;
use campaign::status::Phase;
use crds::record::{CaseResult, Record};
use crds::v1alpha1::BenchmarkRun;
use fabricbench_cli::report::Report;
use serde_json::{Value, json};

use crate::fixture::{self, Campaign, UID, plan_of, run, stream_of};

/// The variant whose records are forged.
const FORGER: &str = "fi-inject";

/// Paths of the numbers below `value`, without indexes.
fn number_paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Number(_) => {
            found.insert(path.to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| number_paths(item, path, found)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| number_paths(field, &format!("{path}/{name}"), found)),
        _ => {}
    }
}

/// Replaces the numbers at `path`.
fn replace(value: &mut Value, path: &str, number: &Value) {
    match value {
        Value::Number(_) if path.is_empty() => *value = number.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, path, number)),
        Value::Object(fields) => {
            let Some((name, rest)) = path.strip_prefix('/').map(|path| {
                let end = path.find('/').unwrap_or(path.len());
                path.split_at(end)
            }) else {
                return;
            };
            if let Some(field) = fields.get_mut(name) {
                replace(field, rest, number);
            }
        }
        _ => {}
    }
}

/// Whether `text` contains a number that is infinite or undefined.
fn is_undefined(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| ["NaN", "inf", "Inf"].contains(&word))
}

/// Evaluates `records`, and renders every output.
fn outputs(campaign: &Campaign, records: &[Record]) -> Vec<(&'static str, String)> {
    let stream = stream_of(records);
    let reports = collect(&campaign.plan, UID, stream.as_bytes());
    let evaluation = evaluate(&campaign.plan, &reports).unwrap();
    let report = Report {
        plan: &campaign.plan,
        evaluation: &evaluation,
    };
    let run = BenchmarkRun {
        status: Some(campaign.status(&evaluation, Phase::finished(&evaluation))),
        ..run()
    };
    let mut outputs = fixture::outputs(&run, &report);
    outputs.push(("status", serde_json::to_string(&run.status).unwrap()));
    outputs
}

/// A run with one size for each scenario and few rounds, because it is evaluated hundreds of times.
fn short_run() -> BenchmarkRun {
    let mut run = run();
    run.spec.sampling.rounds = Some(6);
    run.spec.expectations.clear();
    for scenario in &mut run.spec.scenarios {
        if let Some(ping_pong) = &mut scenario.ping_pong {
            ping_pong.sizes.truncate(1);
        }
        if let Some(transfer) = &mut scenario.transfer {
            transfer.sizes.truncate(1);
        }
    }
    run
}

#[test]
fn a_case_with_a_number_above_all_measurements_is_not_valid() {
    let run = short_run();
    let campaign = Campaign {
        plan: plan_of(&run),
        tweak: |case| {
            if let (true, CaseResult::Measured(measured)) = (case.arm == FORGER, &mut case.result) {
                // Two such counts add up to 0.
                measured.initiator.cpu_nanos = 1 << 63;
                measured.target.cpu_nanos = 1 << 63;
            }
        },
        ..Campaign::default()
    };
    let evaluation = campaign.evaluation_of(run, &campaign.stream(1, &[]));
    for cell in &evaluation.summary.cells {
        let is_forged = campaign.plan.arms[cell.arm].name == FORGER;
        assert_eq!(
            cell.valid_rounds.is_empty(),
            is_forged,
            "{:?}",
            cell.invalid_reason()
        );
        assert!(
            cell.invalid_reason()
                .is_none_or(|reason| reason.contains("damaged or forged")),
            "{:?}",
            cell.invalid_reason()
        );
    }
}

#[test]
fn no_number_of_a_record_stops_the_evaluation() {
    let campaign = Campaign {
        plan: plan_of(&short_run()),
        ..Campaign::default()
    };
    let records = campaign.records(&campaign.plan.legs[0], 1, &[]);
    let values: Vec<Value> = records
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    let is_forged = |value: &Value| value["arm"] == FORGER;
    let mut paths = BTreeSet::new();
    for value in values.iter().filter(|value| is_forged(value)) {
        let kind = value["kind"].as_str().unwrap();
        let mut found = BTreeSet::new();
        number_paths(value, "", &mut found);
        paths.extend(found.into_iter().map(|path| (kind.to_owned(), path)));
    }
    assert!(paths.len() > 40, "{paths:?}");
    let mut tried = 0;
    let mut failures = Vec::new();
    for (kind, path) in &paths {
        for number in [json!(0), json!(999_999_999_999_999_u64), json!(u64::MAX)] {
            let forged: Option<Vec<Record>> = values
                .iter()
                .map(|value| {
                    let mut value = value.clone();
                    if is_forged(&value) && value["kind"] == *kind {
                        replace(&mut value, path, &number);
                    }
                    serde_json::from_value(value).ok()
                })
                .collect();
            // Numbers that the type of the field does not contain end the stream as damaged.
            let Some(forged) = forged else { continue };
            tried += 1;
            let Ok(outputs) = catch_unwind(|| outputs(&campaign, &forged)) else {
                failures.push(format!("{kind}{path} = {number} panics"));
                continue;
            };
            for (format, output) in outputs {
                let line = output.lines().find(|line| is_undefined(line));
                failures.extend(line.map(|line| format!("{kind}{path} = {number}: {format}: {line}")));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    println!("{tried} forged campaigns of {} fields", paths.len());
}

/// Collects the values of `url` fields below `value`.
fn urls<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| urls(item, found)),
        Value::Object(fields) => {
            found.extend(fields.get("url").and_then(Value::as_str));
            fields.values().for_each(|field| urls(field, found));
        }
        _ => {}
    }
}

/// Labels of metrics contain text of records, which must not decide where a link leads. The names of runs and namespaces have no
/// characters with a meaning in a URL.
#[test]
fn links_of_dashboards_contain_only_names() {
    const NAMES: [&str; 4] = [
        "datasource",
        "__data.fields.namespace",
        "__value.raw",
        "__url_time_range",
    ];
    let mut checked = 0;
    let chart = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../charts/fabricbench/Chart.yaml"
    ));
    let chart = chart.unwrap();
    let home = chart.lines().find_map(|line| line.strip_prefix("home: "));
    let docs = format!("{}/docs/", home.unwrap());
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/fabricbench/dashboards");
    for file in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let board: Value = serde_json::from_str(&text).unwrap();
        let mut found = Vec::new();
        urls(&board, &mut found);
        for url in found {
            let is_own = url.starts_with(&docs) || url.starts_with("/d/fabricbench-");
            assert!(is_own, "{url}");
            let variables = url
                .split("${")
                .skip(1)
                .map(|rest| rest.split_once('}').unwrap().0);
            variables.for_each(|name| assert!(NAMES.contains(&name), "{url}"));
            checked += 1;
        }
    }
    assert!(checked > 5, "{checked}");
}
