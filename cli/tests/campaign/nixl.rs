//! Campaigns with NIXL agents, if `FABRICBENCH_TEST_NIXL` names a directory with NIXL. `.ci/test` sets it if NIXL is
//! available for the machine.

use std::collections::BTreeSet;
use std::{env, fs};

use crds::assignment::Pass;
use crds::record::FailureReason;
use crds::v1alpha1::{Answer, StepTimes};
use rustix::process::{Signal, kill_process};
use serde_yaml::Value;

use super::harness::{RunningCommand, TestDir, workspace};
use super::libraries::newer_ucx;
use super::manifest::{NAME, run};
use super::stored_run::{StoredRun, blocks, streams};

/// NIXL over tcp, with the copy of UCX that NIXL contains.
const NIXL: &str = "{nixl: {backend: UCX, parameters: [{name: engine_config, value: TLS=tcp}]}}";
/// Number of rounds of the example. Too few for intervals, which do not depend on the library.
const ROUNDS: u32 = 3;

/// Returns the NIXL directory. Prints a message and returns `None` if the variable is not set.
fn library() -> Option<String> {
    let directory = env::var("FABRICBENCH_TEST_NIXL").ok();
    if directory.is_none() {
        println!("skipped: FABRICBENCH_TEST_NIXL does not name a directory with NIXL");
    }
    directory
}

/// `examples/nixl-against-ucx.yaml` with shorter cases: UCX, UCX with NIXL's settings, and NIXL with requests that are
/// prepared, created, or divided into descriptors.
#[test]
fn compares_nixl_with_the_ucx_that_it_uses() {
    let Some(nixl) = library() else { return };
    let text = fs::read_to_string(workspace().join("examples/nixl-against-ucx.yaml")).unwrap();
    let mut manifest: Value = serde_yaml::from_str(&text).unwrap();
    let spec = &mut manifest["spec"];
    for variant in spec["variants"].as_sequence_mut().unwrap() {
        let is_nixl = !variant["transport"]["nixl"].is_null();
        variant["library"] = if is_nixl { nixl.clone() } else { newer_ucx() }.into();
    }
    for scenario in spec["scenarios"].as_sequence_mut().unwrap() {
        scenario["transfer"]["sizes"] = vec!["64", "64Ki"].into();
    }
    spec["sampling"] = serde_yaml::from_str("{minWindow: 5ms}").unwrap();
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&serde_yaml::to_string(&manifest).unwrap()));
    command.args(["--rounds", &ROUNDS.to_string()]);
    let output = RunningCommand::start(command).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    output.expect_stdout("posted in");

    let stored = StoredRun::read(&dir.run_dir("nixl-against-ucx"));
    // NIXL crashes when its process exits normally. No record may be lost as a result.
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    assert_facts(&stored);
    assert_steps(&stored);
    let verified: BTreeSet<&str> = stored
        .cases()
        .into_iter()
        .filter(|case| case.pass == Pass::Integrity)
        .map(|case| case.arm.as_str())
        .collect();
    assert!(
        ["nixl", "nixl-created", "nixl-descriptors"]
            .iter()
            .all(|arm| verified.contains(arm))
    );
}

fn assert_facts(stored: &StoredRun) {
    let of_nixl = || {
        stored
            .endpoints()
            .into_iter()
            .filter(|one| one.arm.starts_with("nixl"))
    };
    assert!(of_nixl().count() > 0);
    for endpoints in of_nixl() {
        let facts = endpoints.fabric.as_ref().unwrap();
        let library = facts.library.as_ref().unwrap();
        assert_eq!((library.name.as_str(), facts.provider.as_str()), ("nixl", "UCX"));
        let requests = if endpoints.arm == "nixl-created" {
            "created"
        } else {
            "prepared"
        };
        assert_eq!(facts.settings["requests"], requests, "{}", endpoints.arm);
        let is_divided = facts.settings.contains_key("descriptors");
        assert_eq!(is_divided, endpoints.arm == "nixl-descriptors");
    }
}

/// Checks that the status contains the steps of each NIXL arm, as measured by the runner and by NIXL.
fn assert_steps(stored: &StoredRun) {
    for result in &stored.status().results {
        if !result.arm.starts_with("nixl") {
            assert!(result.protocols.iter().all(|protocol| protocol.steps.is_none()));
            continue;
        }
        // NIXL does not report whether its copy of UCX emulates an operation.
        assert_eq!(result.emulated, Some(Answer::Unknown), "{result:?}");
        let [protocol] = result.protocols.as_slice() else {
            panic!("{result:?}");
        };
        let steps: &StepTimes = protocol.steps.as_ref().unwrap();
        assert_eq!(
            (protocol.lanes.as_str(), protocol.count),
            ("UCX", steps.transfers)
        );
        assert_eq!(steps.reported_transfers, steps.transfers, "{steps:?}");
        assert_eq!(
            steps.reported_bytes,
            steps.transfers * result.size_bytes,
            "{steps:?}"
        );
        let descriptors = match result.arm.as_str() {
            "nixl-descriptors" => result.size_bytes.div_ceil(4096),
            _ => 1,
        };
        assert_eq!(
            steps.reported_descriptors,
            steps.transfers * descriptors,
            "{steps:?}"
        );
        let is_created = result.arm == "nixl-created";
        assert_eq!(steps.creation_nanos > 0, is_created, "{result:?}");
        assert!(steps.post_nanos > 0, "{steps:?}");
    }
}

/// The plugin for the LIBFABRIC backend needs CUDA libraries, so it cannot be loaded on a machine without them. No
/// other backend is used instead.
#[test]
fn explains_a_backend_that_cannot_be_used() {
    let Some(nixl) = library() else { return };
    let variants = format!(
        "[{{name: baseline}}, {{name: nixl, library: {nixl}, transport: {{nixl: {{backend: LIBFABRIC}}}}}}]"
    );
    let scenarios = "[{name: put, transfer: {operation: Write, sizes: [64], iterations: 100}}]";
    let dir = TestDir::new();
    let text = run(
        &variants,
        "{loopback: {rails: 1}}",
        scenarios,
        &["sampling: {rounds: 2}"],
    );
    let output = RunningCommand::start(dir.run(&dir.manifest(&text)))
        .wait()
        .expect_code(3);
    output.expect_stdout("LIBFABRIC");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    let failures = stored.failures();
    assert!(!failures.is_empty());
    for (case, failure) in failures {
        assert_eq!(
            (case.arm.as_str(), failure.reason),
            ("nixl", FailureReason::LibraryNotFound)
        );
        assert!(
            failure.message.contains("the plugin for the LIBFABRIC backend"),
            "{failure:?}"
        );
    }
}

/// If an instrument is killed, only cases of the round in progress fail.
#[test]
fn killed_instrument_invalidates_its_round() {
    let Some(nixl) = library() else { return };
    let variants = format!(
        "[{{name: baseline, library: {nixl}}}, {{name: created, library: {nixl}, transport: {{nixl: {{backend: UCX, requests: Created, parameters: [{{name: engine_config, value: TLS=tcp}}]}}}}}}]"
    );
    let scenarios = "[{name: put, transfer: {operation: Write, sizes: [64, 128], duration: 700ms}}]";
    let rest = [
        "sampling: {rounds: 2, control: false}",
        "runPolicy: {caseDeadlineSeconds: 10}",
    ];
    let dir = TestDir::new();
    let text = run(&variants, NIXL, scenarios, &rest);
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&text)));
    let records = dir.run_dir(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done == Some(3)).then_some(())
    });
    kill_process(running.instrument(1).id(), Signal::KILL).unwrap();
    let output = running.wait();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let failures = stored.failures();
    assert!(!failures.is_empty());
    for (case, failure) in failures {
        assert_eq!(case.round, 1, "{failure:?}");
        let is_loss = matches!(
            failure.reason,
            FailureReason::PeerLost | FailureReason::CompletionFailed | FailureReason::DeadlineExceeded
        );
        assert!(is_loss, "{failure:?}");
    }
}
