//! The test procedures of the examples, on this machine through the one overlay: it changes transport, memory and
//! resources, and nothing else. One round, so that every verdict is honestly open.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRun, CaseValidity, FabricProof, Scenario};
use fabricbench_operator::manifest::load;

use super::program::{Desk, Running, workspace};
use super::stored::Stored;

#[test]
fn t1_baseline() {
    unchanged("nixl-t1-baseline");
}

#[test]
fn t2_inject() {
    unchanged("nixl-t2-inject");
}

#[test]
fn t3_doorbell() {
    unchanged("nixl-t3-doorbell");
}

#[test]
fn t4_coalesce() {
    unchanged("nixl-t4-coalesce");
}

#[test]
fn t5_combined() {
    unchanged("nixl-t5-combined");
}

#[test]
fn all_optimizations() {
    unchanged("nixl-optimizations");
}

fn unchanged(name: &str) {
    let desk = Desk::new();
    let examples = workspace().join("examples");
    let file = examples.join(format!("{name}.yaml"));
    let mut command = desk.run(&file.display().to_string());
    command
        .arg("--overlay")
        .arg(examples.join("overlays/local-tcp.yaml"))
        .args(["--rounds", "1"]);
    let ended = Running::start(command).end().exits(0);
    ended.shows("fabric verified: lo counted");

    let stored = Stored::read(&desk.run_folder(name));
    stored.is_complete();
    assert_eq!(stored.failures(), Vec::new());
    let asked = load(&file, None).unwrap().remove(0);
    only_the_overlay_differs(&asked, &stored.run);
    every_size_is_answered(&stored);
}

fn only_the_overlay_differs(asked: &BenchmarkRun, done: &BenchmarkRun) {
    let mut done = done.spec.clone();
    assert_eq!(done.sampling.rounds, Some(1));
    assert_ne!(done.transport, asked.spec.transport);
    done.sampling.rounds = asked.spec.sampling.rounds;
    done.transport = asked.spec.transport.clone();
    done.resources = asked.spec.resources.clone();
    for (done, asked) in done.scenarios.iter_mut().zip(&asked.spec.scenarios) {
        done.memory = asked.memory;
    }
    assert_eq!(done, asked.spec);
}

fn every_size_is_answered(stored: &Stored) {
    let (spec, status) = (&stored.run.spec, stored.status());
    let mut wanted = BTreeSet::new();
    for scenario in &spec.scenarios {
        for size in sizes(scenario) {
            for variant in &spec.variants {
                wanted.insert((scenario.name.clone(), size, variant.name.clone()));
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
    assert_eq!(wanted.difference(&measured).next(), None);

    wanted.retain(|(_, _, arm)| *arm != spec.baseline);
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
    assert_eq!(wanted.difference(&compared).next(), None);

    let answered: Vec<usize> = status.expectations.iter().map(|one| one.index as usize).collect();
    assert_eq!(answered, (0..spec.expectations.len()).collect::<Vec<_>>());
    assert!(status.expectations.iter().all(|one| !one.reason.is_empty()));
}

fn sizes(scenario: &Scenario) -> Vec<u64> {
    let ping_pong = scenario.ping_pong.iter().flat_map(|workload| &workload.sizes);
    let transfer = scenario.transfer.iter().flat_map(|workload| &workload.sizes);
    ping_pong.chain(transfer).map(|size| size.0).collect()
}
