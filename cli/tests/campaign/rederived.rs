//! Changes each value in a status and each measured case in the records, and checks that the re-derivation finds every
//! change.

use std::fs;
use std::path::PathBuf;

use crds::assignment::Pass;
use crds::record::{CaseResult, ChainWriter, Record};
use serde_json::{Value, json};
use test_support::rederive::{LINES, assert_rederived, rederive};

use super::harness::{RunningCommand, TestDir};
use super::manifest::{INJECT_64, NAME, SHORT, TCP, run};

/// A change to a run and its records.
struct Mutant {
    description: String,
    run: Value,
    records: String,
}

/// The stored run and the lines of its records.
struct Original {
    run: Value,
    records: String,
}

impl Original {
    fn mutant(&self, description: impl Into<String>, change: impl FnOnce(&mut Value)) -> Mutant {
        let mut run = self.run.clone();
        change(&mut run["status"]);
        Mutant {
            description: description.into(),
            run,
            records: self.records.clone(),
        }
    }

    fn items(&self, list: &str) -> &[Value] {
        self.run["status"][list].as_array().unwrap()
    }

    /// Changes each checked value in the status.
    fn changed_values(&self) -> impl Iterator<Item = Mutant> {
        values(&self.run["status"]).into_iter().map(|pointer| {
            self.mutant(&pointer, |status| {
                let value = status.pointer_mut(&pointer).unwrap();
                *value = match value.as_i64() {
                    // Because of rounding, the two implementations may differ by 1, or by 3 for a minimum detectable
                    // effect.
                    Some(number) => json!(number + 1 + number.abs() / 1000 + 4),
                    None if value == "Regressed" => json!("Improved"),
                    None => json!("Regressed"),
                };
            })
        })
    }

    /// Removes each item of the lists, and most values of the results.
    fn missing_values(&self) -> impl Iterator<Item = Mutant> {
        let items = ["results", "comparisons", "expectations"]
            .into_iter()
            .flat_map(move |list| {
                (0..self.items(list).len()).map(move |index| {
                    self.mutant(format!("{list} without item {index}"), |status| {
                        status[list].as_array_mut().unwrap().remove(index);
                    })
                })
            });
        let values = self.mutant("results without times", |status| {
            status["omittedValues"] = json!(1);
            for result in status["results"].as_array_mut().unwrap() {
                let is_kept = |name: &String, _: &mut Value| !name.ends_with("Nanos");
                result.as_object_mut().unwrap().retain(is_kept);
            }
        });
        items.chain([values])
    }

    /// Withholds each verdict for every reason other than the stored one.
    fn withheld_verdicts(&self) -> impl Iterator<Item = Mutant> {
        let reasons = [
            "NotEngaged",
            "NotApplicable",
            "NotMeasured",
            "FabricContradicted",
            "DifferentDevices",
        ];
        let indexes = 0..self.items("comparisons").len();
        let both = indexes.flat_map(move |index| reasons.map(|reason| (index, reason)));
        let others = both.filter(|(index, reason)| self.items("comparisons")[*index]["withheld"] != *reason);
        others.map(|(index, reason)| {
            self.mutant(format!("comparison {index} withheld as {reason}"), |status| {
                let comparison = status["comparisons"][index].as_object_mut().unwrap();
                comparison.remove("verdict");
                comparison.insert("withheld".to_owned(), json!(reason));
            })
        })
    }

    /// Edits each line with a measured case, so that the line no longer matches its chain value and the digest.
    fn edited_lines(&self) -> impl Iterator<Item = Mutant> {
        let measured = |(_, line): &(usize, &str)| line.contains("elapsedNanos");
        let lines = self.records.lines().enumerate().filter(measured);
        lines.map(|(number, line)| Mutant {
            description: format!("line {number}"),
            run: self.run.clone(),
            records: self
                .records
                .replace(line, &line.replacen("\"elapsedNanos\":", "\"elapsedNanos\":1", 1)),
        })
    }

    /// Edits each case of a measured round. Writes a new chain and removes the digest from the status, so that only the
    /// values reveal the edit.
    fn edited_cases(&self) -> impl Iterator<Item = Mutant> {
        let line = |line: &str| serde_json::from_str::<Value>(line).unwrap()["record"].take();
        let records: Vec<Record> = self
            .records
            .lines()
            .map(|text| serde_json::from_value(line(text)).unwrap())
            .collect();
        let mut mutants = Vec::new();
        for (index, record) in records.iter().enumerate() {
            let mut edited = record.clone();
            let Record::Case(case) = &mut edited else { continue };
            let CaseResult::Measured(measured) = &mut case.result else {
                continue;
            };
            let Some(posted) = &mut measured.initiator.posted else {
                continue;
            };
            if case.pass != Pass::Measure {
                continue;
            }
            posted.min_nanos = 1;
            let mut writer = ChainWriter::default();
            let records = records.iter().enumerate();
            let lines = records.map(|(number, record)| {
                let record = if number == index { &edited } else { record };
                writer.line(record).unwrap()
            });
            let records = lines.collect();
            mutants.push(Mutant {
                records,
                ..self.mutant(format!("case in line {index}"), |status| {
                    status.as_object_mut().unwrap().remove("records");
                })
            });
        }
        mutants.into_iter()
    }
}

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

/// The other tests rely on the re-derivation, which must therefore not accept wrong values.
#[test]
fn finds_every_changed_value_and_record() {
    let dir = TestDir::new();
    let expectation = "{variant: fi-inject, scenario: small, metric: LatencyP50, decreasePercent: {min: 90}}";
    let rest = ["sampling: {rounds: 8}", &format!("expectations: [{expectation}]")];
    let manifest = dir.manifest(&run(INJECT_64, TCP, SHORT, &rest));
    RunningCommand::start(dir.run(&manifest)).wait();
    let directory = dir.run_dir(NAME);
    assert_rederived(&directory);
    let original = Original {
        run: serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap(),
        records: fs::read_to_string(directory.join(LINES)).unwrap(),
    };
    let mutants = original
        .changed_values()
        .chain(original.missing_values())
        .chain(original.withheld_verdicts())
        .chain(original.edited_lines())
        .chain(original.edited_cases());
    let write = |(number, mutant): (usize, Mutant)| -> (String, PathBuf) {
        let directory = dir.output_dir().join(format!("mutant-{number}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("run.json"), mutant.run.to_string()).unwrap();
        fs::write(directory.join(LINES), mutant.records).unwrap();
        (mutant.description, directory)
    };
    let mutants: Vec<(String, PathBuf)> = mutants.enumerate().map(write).collect();
    let directories: Vec<_> = mutants.iter().map(|(_, directory)| directory.clone()).collect();
    let output = rederive(&directories);
    let errors = String::from_utf8_lossy(&output.stderr);
    let missed: Vec<_> = mutants
        .iter()
        .filter(|(_, directory)| !errors.contains(&format!("{}: ", directory.display())))
        .map(|(change, _)| change)
        .collect();
    println!("{} mutants", mutants.len());
    assert!(mutants.len() > 200, "{}", mutants.len());
    assert!(
        missed.is_empty(),
        "{} of {} changes were not found: {missed:?}",
        missed.len(),
        mutants.len()
    );
}
