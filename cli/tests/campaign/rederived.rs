//! Changes each value in a status and each measured case in the records, and checks that the re-derivation finds every
//! change.

use std::fs;

use serde_json::{Value, json};
use test_support::rederive::{assert_rederived, rederive};

use super::harness::{RunningCommand, TestDir};
use super::manifest::{INJECT_64, NAME, SHORT, TCP, run};

/// Pointers to the outcome, and to all numbers and verdicts in `results` and `comparisons` of `status`.
fn values(status: &Value) -> Vec<String> {
    let single = [
        "/seed",
        "/progress/blocksDone",
        "/outcome",
        "/expectations/0/outcome",
        "/fabric/countedBytes",
        "/fabric/payloadBytes",
    ];
    let mut found: Vec<String> = single.map(str::to_owned).into();
    for list in ["results", "comparisons"] {
        for (index, item) in status[list].as_array().unwrap().iter().enumerate() {
            let fields = item.as_object().unwrap().iter();
            let is_checked = |(name, value): &(&String, &Value)| {
                (value.is_number() || *name == "verdict") && *name != "sizeBytes"
            };
            found.extend(
                fields
                    .filter(is_checked)
                    .map(|(name, _)| format!("/{list}/{index}/{name}")),
            );
        }
    }
    found
}

/// The other tests rely on this check, which must therefore not accept wrong values.
#[test]
fn finds_every_changed_value_and_record() {
    let dir = TestDir::new();
    let expectation = "{variant: fi-inject, scenario: small, metric: LatencyP50, decreasePercent: {min: 90}}";
    let rest = ["sampling: {rounds: 8}", &format!("expectations: [{expectation}]")];
    let manifest = dir.manifest(&run(INJECT_64, TCP, SHORT, &rest));
    RunningCommand::start(dir.run(&manifest)).wait();
    let original = dir.run_dir(NAME);
    assert_rederived(&original);
    let text = fs::read_to_string(original.join("records.jsonl")).unwrap();
    let stored: Value = serde_json::from_slice(&fs::read(original.join("run.json")).unwrap()).unwrap();

    let mut mutants = Vec::new();
    let mut write = |change: String, run: &Value, records: &str| {
        let directory = dir.output_dir().join(format!("mutant-{}", mutants.len()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("run.json"), run.to_string()).unwrap();
        fs::write(directory.join("records.jsonl"), records).unwrap();
        mutants.push((change, directory));
    };
    for pointer in values(&stored["status"]) {
        let mut changed = stored.clone();
        let value = changed["status"].pointer_mut(&pointer).unwrap();
        *value = match value.as_i64() {
            // Because of rounding, the two programs may differ by 1, or by 3 for a minimum detectable effect.
            Some(number) => json!(number + 1 + number.abs() / 1000 + 4),
            None if value == "Regressed" => json!("Improved"),
            None => json!("Regressed"),
        };
        write(pointer, &changed, &text);
    }
    for (line, found) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("elapsedNanos"))
    {
        let edited = found.replacen("\"elapsedNanos\":", "\"elapsedNanos\":1", 1);
        let lines = text.lines().enumerate();
        let lines = lines.map(|(number, other)| if number == line { &edited } else { other });
        write(
            format!("line {line}"),
            &stored,
            &(lines.collect::<Vec<_>>().join("\n") + "\n"),
        );
    }
    let directories: Vec<_> = mutants.iter().map(|(_, directory)| directory.clone()).collect();
    let output = rederive(&directories);
    let errors = String::from_utf8_lossy(&output.stderr);
    let missed: Vec<_> = mutants
        .iter()
        .filter(|(_, directory)| !errors.contains(&format!("{}: ", directory.display())))
        .map(|(change, _)| change)
        .collect();
    println!("{} mutants", mutants.len());
    assert!(mutants.len() > 100, "{}", mutants.len());
    assert!(
        missed.is_empty(),
        "{} of {} changes were not found: {missed:?}",
        missed.len(),
        mutants.len()
    );
}
