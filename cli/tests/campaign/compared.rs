//! Derives the comparison of two runs from their records, and checks that every changed value is found.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use test_support::rederive::rederive_comparison;

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::manifest::{INJECT_64, NAME, SHM, SHORT, TCP, run};
use super::rederived::NODE_NAMES;
use super::rederived::values::{changed_value, leaves};

#[test]
fn comparison_of_two_runs_follows_from_their_records() {
    check_comparison(SHM);
}

/// The second run uses another transport, so that its baseline differs at every size.
#[test]
fn comparison_of_runs_with_different_baselines_follows_from_their_records() {
    let comparison = check_comparison(TCP);
    let comparisons = comparison["comparisons"].as_array().unwrap();
    let is_changed = |one: &Value| one["baselineChanged"] == true && one["verdict"].is_null();
    assert!(
        comparisons
            .iter()
            .filter(|one| one["arm"] != "baseline")
            .all(is_changed),
        "{comparisons:#?}"
    );
}

/// Compares a run over shared memory with one over `transport`, and checks the comparison. Returns the comparison.
fn check_comparison(transport: &str) -> Value {
    let (before, after) = (TestDir::new(), TestDir::new());
    // Several pairs of workers, because each round contributes the median over its pairs.
    let rest = ["sampling: {rounds: 7, control: false}", "placement: {workers: 3}"];
    for (dir, transport) in [(&before, SHM), (&after, transport)] {
        let manifest = dir.manifest(&run(INJECT_64, transport, SHORT, &rest));
        RunningCommand::start(dir.run_with(&dir.runner(NODE_NAMES), &manifest)).wait();
    }
    let directories = [before.run_dir(NAME), after.run_dir(NAME)];
    let mut command = fabricbench(["compare", "--force", "--format", "json"]);
    command.args(&directories);
    let output = RunningCommand::start(command).wait();
    let comparison: Value = serde_json::from_str(&output.stdout).unwrap();

    let rederive = |comparisons: &[Value]| {
        let write = |(number, comparison): (usize, &Value)| -> PathBuf {
            let file = after.output_dir().join(format!("comparison-{number}.json"));
            fs::write(&file, comparison.to_string()).unwrap();
            file
        };
        let files: Vec<PathBuf> = comparisons.iter().enumerate().map(write).collect();
        let output = rederive_comparison(&directories, &files);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (files, text(&output.stdout), text(&output.stderr))
    };
    let (_, figures, differences) = rederive(std::slice::from_ref(&comparison));
    assert_eq!(differences, "");
    print!("{figures}");

    let mut pointers = Vec::new();
    leaves("/comparisons", &comparison["comparisons"], &mut pointers);
    let mutant = |pointer: &String| {
        let mut mutant = comparison.clone();
        let value = mutant.pointer_mut(pointer).unwrap();
        *value = changed_value(value);
        mutant
    };
    let mutants: Vec<Value> = pointers.iter().map(mutant).collect();
    let (files, _, differences) = rederive(&mutants);
    let is_found = |file: &PathBuf| differences.contains(&format!("{}: ", file.display()));
    let changes = pointers.iter().zip(&files);
    let missed: Vec<&String> = changes
        .filter(|(_, file)| !is_found(file))
        .map(|(pointer, _)| pointer)
        .collect();
    println!(
        "mutants: {}, {} missed; comparison of two runs",
        pointers.len(),
        missed.len()
    );
    assert!(missed.is_empty(), "not found: {missed:?}");
    comparison
}
