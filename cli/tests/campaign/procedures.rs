//! Runs the test procedures in `examples` on this machine. The overlay changes only transport, memory and resources,
//! and there are fewer iterations, because the full amount of data would take minutes over loopback. With one round,
//! every verdict is inconclusive.

use std::collections::BTreeSet;
use std::fs;

use crds::v1alpha1::{BenchmarkRun, CaseValidity, FabricProof, Scenario};
use manifest::parse;

use super::harness::{RunningCommand, TestDir, workspace};
use super::stored_run::StoredRun;

/// Iterations and warm-up in the procedures and in the tests. The transfers in the tests still fill the window.
const ITERATIONS: (&str, &str) = (
    "iterations: 1000\n      warmup: 100",
    "iterations: 64\n      warmup: 32",
);

#[test]
fn t1_baseline() {
    check_procedure("nixl-t1-baseline");
}

#[test]
fn t2_inject() {
    check_procedure("nixl-t2-inject");
}

#[test]
fn t3_doorbell() {
    check_procedure("nixl-t3-doorbell");
}

#[test]
fn t4_coalesce() {
    check_procedure("nixl-t4-coalesce");
}

#[test]
fn t5_combined() {
    check_procedure("nixl-t5-combined");
}

#[test]
fn all_optimizations() {
    check_procedure("nixl-optimizations");
}

fn check_procedure(name: &str) {
    let dir = TestDir::new();
    let examples = workspace().join("examples");
    let text = fs::read_to_string(examples.join(format!("{name}.yaml"))).unwrap();
    assert!(text.contains(ITERATIONS.0), "{text}");
    let text = text.replace(ITERATIONS.0, ITERATIONS.1);
    let mut command = dir.run(&dir.manifest(&text));
    command
        .arg("--overlay")
        .arg(examples.join("overlays/local-tcp.yaml"))
        .args(["--rounds", "1"]);
    let output = RunningCommand::start(command).wait().expect_code(0);
    output.expect_stdout("fabric verified: lo counted");

    let stored = StoredRun::read(&dir.run_dir(name));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let original = parse(&text, None).unwrap().remove(0);
    assert_only_overlay_differs(&original, &stored.run);
    assert_every_size_has_results(&stored);
}

fn assert_only_overlay_differs(original: &BenchmarkRun, executed: &BenchmarkRun) {
    let mut executed = executed.spec.clone();
    assert_eq!(executed.sampling.rounds, Some(1));
    assert_ne!(executed.transport, original.spec.transport);
    executed.sampling.rounds = original.spec.sampling.rounds;
    executed.transport = original.spec.transport.clone();
    executed.resources = original.spec.resources.clone();
    for (executed, original) in executed.scenarios.iter_mut().zip(&original.spec.scenarios) {
        executed.memory = original.memory;
    }
    assert_eq!(executed, original.spec);
}

fn assert_every_size_has_results(stored: &StoredRun) {
    let (spec, status) = (&stored.run.spec, stored.status());
    let mut expected = BTreeSet::new();
    for scenario in &spec.scenarios {
        for size in sizes(scenario) {
            for variant in &spec.variants {
                expected.insert((scenario.name.clone(), size, variant.name.clone()));
            }
        }
    }
    let mut measured = BTreeSet::new();
    for result in &status.results {
        assert_eq!(
            (result.valid_rounds, result.validity, result.fabric),
            (1, CaseValidity::Valid, Some(FabricProof::Verified)),
            "{result:?}"
        );
        measured.insert((result.scenario.clone(), result.size_bytes, result.arm.clone()));
    }
    assert_eq!(expected.difference(&measured).next(), None);

    expected.retain(|(_, _, arm)| *arm != spec.baseline);
    let mut compared = BTreeSet::new();
    for comparison in status.comparisons.iter().filter(|comparison| comparison.primary) {
        assert!(comparison.effect_ppm.is_some(), "{comparison:?}");
        let key = (
            comparison.scenario.clone(),
            comparison.size_bytes,
            comparison.arm.clone(),
        );
        compared.insert(key);
    }
    assert_eq!(expected.difference(&compared).next(), None);

    let evaluated: Vec<usize> = status.expectations.iter().map(|one| one.index as usize).collect();
    assert_eq!(evaluated, (0..spec.expectations.len()).collect::<Vec<_>>());
    assert!(status.expectations.iter().all(|one| !one.reason.is_empty()));
}

fn sizes(scenario: &Scenario) -> Vec<u64> {
    let workload = scenario.workload();
    let sizes = workload.as_ref().map(|workload| workload.sizes());
    sizes
        .iter()
        .flat_map(|sizes| sizes.iter())
        .map(|size| size.0)
        .collect()
}
