//! Changes the values in a status and the records of a run, and checks that the re-derivation finds every change.

mod records;
mod status;
pub mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crds::record::{ChainWriter, Record};
use serde_json::Value;
use test_support::rederive::{LINES, rederive};

use super::harness::{RunningCommand, TestDir};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, SHORT, TCP, run};

/// Number of mutants that exist concurrently. It is limited because each mutant has its own copy of the records.
const CHUNK: usize = 64;

/// A changed run: its status and record lines with one change applied, and the kind and description of the change.
struct Mutant {
    kind: String,
    change: String,
    run: Value,
    records: String,
}

/// A stored run and its records.
struct Original {
    run: Value,
    text: String,
    records: Vec<Record>,
}

impl Original {
    /// Measures `manifest`, optionally with the runner at the path `runner`.
    fn measure(dir: &TestDir, manifest: &str, runner: Option<&str>) -> Self {
        let manifest = dir.manifest(manifest);
        RunningCommand::start(match runner {
            Some(runner) => dir.run_with(runner, &manifest),
            None => dir.run(&manifest),
        })
        .wait();
        let directory = dir.run_dir(NAME);
        let text = fs::read_to_string(directory.join(LINES)).unwrap();
        let record = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            serde_json::from_value(line["record"].take()).unwrap()
        };
        Self {
            run: serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap(),
            records: text.lines().map(record).collect(),
            text,
        }
    }

    /// Returns the run with a changed status.
    fn with_status(&self, kind: &str, change: impl Into<String>, edit: impl FnOnce(&mut Value)) -> Mutant {
        let mut run = self.run.clone();
        edit(&mut run["status"]);
        Mutant {
            kind: kind.to_owned(),
            change: change.into(),
            run,
            records: self.text.clone(),
        }
    }

    /// Returns the run with other records in a valid chain, and without the digest in the status, so that the change
    /// can be detected only from the values.
    fn with_records(&self, kind: &str, change: impl Into<String>, records: &[Record]) -> Mutant {
        let mut writer = ChainWriter::default();
        let lines = records.iter().map(|record| writer.line(record).unwrap());
        Mutant {
            records: lines.collect(),
            ..self.with_status(kind, change, |status| {
                status.as_object_mut().unwrap().remove("records");
            })
        }
    }
}

/// Checks that the re-derivation finds every change, and prints the number of mutants of each kind.
#[track_caller]
fn assert_all_are_found(dir: &TestDir, mutants: impl Iterator<Item = Mutant>) {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut missed = Vec::new();
    let mut mutants = mutants.peekable();
    while mutants.peek().is_some() {
        let chunk: Vec<Mutant> = mutants.by_ref().take(CHUNK).collect();
        let directories: Vec<PathBuf> = (0..chunk.len())
            .map(|number| dir.output_dir().join(format!("mutant-{number}")))
            .collect();
        for (mutant, directory) in chunk.iter().zip(&directories) {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("run.json"), mutant.run.to_string()).unwrap();
            fs::write(directory.join(LINES), &mutant.records).unwrap();
        }
        let output = rederive(&directories);
        let errors = String::from_utf8_lossy(&output.stderr);
        for (mutant, directory) in chunk.into_iter().zip(&directories) {
            if !errors.contains(&format!("{}: ", directory.display())) {
                missed.push(format!("{}: {}", mutant.kind, mutant.change));
            }
            *numbers.entry(mutant.kind).or_default() += 1;
        }
    }
    let total: usize = numbers.values().sum();
    println!("mutants: {total}, {} missed; {numbers:?}", missed.len());
    assert!(missed.is_empty(), "not found: {missed:#?}");
}

/// Covers every optimization, on interfaces that have counters.
#[test]
fn finds_every_changed_value_and_record() {
    let dir = TestDir::new();
    let variants = "[{name: baseline}, {name: fi-inject, inject: {maxBytes: 64}}, {name: doorbell, doorbell: \
                    {maxBatch: 4}}, {name: coalesce, striping: {policy: NixlCoalesce}}]";
    let scenarios = "[{name: small, pingPong: {sizes: [64, 256], iterations: 200, warmup: 20}}, {name: mid, transfer: \
                     {sizes: [16Ki], window: 4, batch: 4, iterations: 100, warmup: 10}}]";
    let expectation = "{variant: fi-inject, scenario: small, metric: LatencyP50, decreasePercent: {min: 90}}";
    let rest = [
        "sampling: {rounds: 7, minWindow: 2ms}",
        "striping: {policy: Nixl, thresholdBytes: 16Ki, minChunkBytes: 16Ki}",
        &format!("expectations: [{expectation}]"),
    ];
    let transport = "{libfabric: {provider: tcp, rails: 2}}";
    let original = Original::measure(&dir, &run(variants, transport, scenarios, &rest), None);
    let of_status = status::changed_values(&original)
        .chain(status::changed_answers(&original))
        .chain(status::missing_items(&original))
        .chain(status::withheld_verdicts(&original));
    let of_records = records::edited_lines(&original)
        .chain(records::edited_records(&original))
        .chain(records::edited_cells(&original));
    assert_all_are_found(&dir, of_status.chain(of_records));
}

/// Shell code that precedes the runner's command and gives each rank a node name.
pub const NODE_NAMES: &str = r#"for rank in 0 1 2 3; do
    case " $* " in *" --rank $rank "*) export FABRICBENCH_NODE="node-$rank";; esac
done
exec"#;

#[test]
fn finds_every_changed_deviation_of_pairs_and_nodes() {
    let dir = TestDir::new();
    let rest = [
        "sampling: {rounds: 2, control: false, minWindow: 0s}",
        "placement: {workers: 4}",
    ];
    let manifest = run("[{name: baseline}]", SHM, SHORT, &rest);
    let original = Original::measure(&dir, &manifest, Some(&dir.runner(NODE_NAMES)));
    let nodes = original.run["status"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 4, "{nodes:?}");
    let mutants = status::changed_values(&original)
        .chain(status::missing_items(&original))
        .chain(records::renamed_nodes(&original));
    assert_all_are_found(&dir, mutants);
}

#[test]
fn finds_every_changed_end_of_a_comparison() {
    let dir = TestDir::new();
    let rest = ["sampling: {rounds: 40, stop: Settled, minWindow: 0s}"];
    let original = Original::measure(&dir, &run(INJECT_64, SHM, SHORT, &rest), None);
    assert!(original.run["status"]["progress"]["savedPercent"].is_number());
    assert_all_are_found(&dir, status::changed_values(&original));
}

#[test]
fn finds_every_changed_value_of_segments() {
    let dir = TestDir::new();
    let scenarios =
        "[{name: segment, segmentTransfer: {workload: Mix, sizes: [4Ki], threads: 2, duration: 50ms}}]";
    let rest = ["sampling: {rounds: 2, control: false}"];
    let original = Original::measure(&dir, &run("[{name: baseline}]", TCP, scenarios, &rest), None);
    let result = &original.run["status"]["results"][0];
    assert!(result["values"]["readBackP99Nanos"].is_number(), "{result:?}");
    assert!(result["values"]["firstBatchNanos"].is_number(), "{result:?}");
    let mutants = status::changed_values(&original).chain(status::missing_items(&original));
    assert_all_are_found(&dir, mutants);
}

/// The withheld verdict of a variant without effect depends on what the workers recorded about its variable.
#[test]
fn finds_every_changed_configuration() {
    let dir = TestDir::new();
    let variants = "[{name: baseline}, {name: misspelled, env: [{name: FI_UNIVERSE_SIZ, value: '8'}]}, \
                    {name: default, env: [{name: FI_NET_TX_SIZE, value: '256'}]}]";
    let rest = ["sampling: {rounds: 8, control: false, minWindow: 1ms}"];
    let original = Original::measure(&dir, &run(variants, TCP, SHORT, &rest), None);
    assert_all_are_found(&dir, records::changed_configurations(&original));
}

#[test]
fn finds_every_changed_value_of_a_sweep() {
    check_sweep("transfer: {sizes: [64], iterations: 50, warmup: 5");
}

#[test]
fn finds_every_changed_value_of_a_sweep_of_calls() {
    check_sweep("rpc: {payloads: [SmallInt], iterations: 50");
}

/// The highest rate saturates any machine, so that the sweep has a knee and a capacity with an interval.
fn check_sweep(workload: &str) {
    let dir = TestDir::new();
    let scenarios = format!(
        "[{{name: rates, integrity: false, {workload}, load: {{sweep: {{from: 1000, to: 10000000, steps: 3, arrivals: \
         Constant}}}}}}}}]"
    );
    let rest = ["sampling: {rounds: 7, minWindow: 10ms}"];
    let original = Original::measure(
        &dir,
        &run("[{name: baseline}]", LOOPBACK, &scenarios, &rest),
        None,
    );
    let sweeps = original.run["status"]["sweeps"].as_array().unwrap();
    assert_eq!(sweeps.len(), 2, "{sweeps:?}");
    for sweep in sweeps {
        assert!(sweep["capacityLower"].is_number(), "{sweep:?}");
    }
    let mutants = status::changed_values(&original).chain(status::missing_items(&original));
    assert_all_are_found(&dir, mutants);
}
