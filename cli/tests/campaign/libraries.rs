//! Several versions of a library, and several transports, as variants of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use crds::assignment::Pass;
use crds::record::{Record, WarningReason};
use crds::v1alpha1::{Answer, Verdict};
use serde_yaml::Value;

use super::harness::{RunningCommand, TestDir, fabricbench, workspace};
use super::stored_run::StoredRun;

const VARIABLE: &str = "FABRICBENCH_TEST_LIBFABRIC_2";
/// Minimum number of rounds for simultaneous 95 percent intervals of two comparisons.
const ROUNDS: u32 = 7;

/// Returns the directory that contains libfabric 2.x.
pub fn newer_library() -> String {
    let message = format!(
        "{VARIABLE} must be a directory that contains libfabric.so.1 of libfabric 2.x; .ci/test sets it"
    );
    let directory = env::var(VARIABLE).expect(&message);
    assert!(
        fs::exists(format!("{directory}/libfabric.so.1")).unwrap(),
        "{message}"
    );
    directory
}

/// Returns `examples/libfabric-versions.yaml` with the library directory `library`, shorter cases and only two
/// variants.
fn manifest(library: &str) -> String {
    let text = fs::read_to_string(workspace().join("examples/libfabric-versions.yaml")).unwrap();
    let mut manifest: Value = serde_yaml::from_str(&text).unwrap();
    let spec = &mut manifest["spec"];
    spec["variants"].as_sequence_mut().unwrap().truncate(2);
    spec["variants"][1]["library"] = library.into();
    spec["scenarios"][0]["pingPong"]["iterations"] = 200.into();
    spec["scenarios"][1]["transfer"]["duration"] = "20ms".into();
    serde_yaml::to_string(&manifest).unwrap()
}

#[test]
fn compares_two_libraries_in_one_run() {
    let library = newer_library();
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&manifest(&library)));
    command.args(["--rounds", &ROUNDS.to_string()]);
    let output = RunningCommand::start(command).wait();
    // The test does not depend on the verdict or on the noise of this machine.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");

    let stored = StoredRun::read(&dir.run_dir("libfabric-versions"));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    assert_records_name_both(&stored, &library);
    assert_report_names_both(&dir, &library);
    assert_interleaved(&stored);
    for scenario in [
        ("small", 64),
        ("small", 1024),
        ("stream", 64 * 1024),
        ("stream", 1024 * 1024),
    ] {
        let mut comparisons = stored.status().comparisons.iter();
        let found = comparisons.find(|one| {
            (one.scenario.as_str(), one.size_bytes) == scenario && one.arm == "libfabric-2-5" && one.primary
        });
        let comparison = found.unwrap();
        assert_eq!(comparison.rounds, ROUNDS);
        assert!(comparison.lower_ppm < comparison.upper_ppm, "{comparison:?}");
    }
}

fn assert_records_name_both(stored: &StoredRun, library: &str) {
    let mut loaded: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for endpoints in stored.endpoints() {
        let facts = endpoints.fabric.as_ref().unwrap().library.as_ref().unwrap();
        loaded
            .entry(&endpoints.arm)
            .or_default()
            .insert((&facts.version, &facts.path));
    }
    let library_of = |arm: &str| {
        let libraries = &loaded[arm];
        assert_eq!(libraries.len(), 1, "{loaded:?}");
        *libraries.first().unwrap()
    };
    let (old, new) = (library_of("baseline"), library_of("libfabric-2-5"));
    assert!(old.0.starts_with("1."), "{old:?}");
    assert!(!old.1.starts_with(library), "{old:?}");
    assert!(new.0.starts_with("2."), "{new:?}");
    assert!(new.1.starts_with(library), "{new:?}");
    let libraries = &stored.status().environment.as_ref().unwrap().libraries;
    for (version, path) in [old, new] {
        let named = |text: &&String| text.contains(version) && text.contains(path);
        assert!(libraries.iter().any(|text| named(&text)), "{libraries:?}");
    }
}

fn assert_report_names_both(dir: &TestDir, library: &str) {
    let path = dir.run_dir("libfabric-versions").display().to_string();
    let text = RunningCommand::start(fabricbench(["report", &path])).wait();
    text.expect_stdout("library baseline, control-environment: libfabric 1.");
    text.expect_stdout("libfabric-2-5: libfabric 2.");
    text.expect_stdout(library);
}

/// Checks that every round measures both libraries, and that the rounds do not all start with the same arm.
fn assert_interleaved(stored: &StoredRun) {
    let mut rounds: BTreeMap<u32, Vec<(u64, &str)>> = BTreeMap::new();
    for case in stored.cases() {
        if case.pass == Pass::Measure {
            let cases = rounds.entry(case.round).or_default();
            cases.push((case.started_nanos, &case.arm));
        }
    }
    assert_eq!(rounds.len(), ROUNDS as usize);
    let mut first = BTreeSet::new();
    for cases in rounds.values() {
        let arms: BTreeSet<&str> = cases.iter().map(|(_, arm)| *arm).collect();
        assert!(
            arms.contains("baseline") && arms.contains("libfabric-2-5"),
            "{arms:?}"
        );
        first.insert(cases.iter().min().unwrap().1);
    }
    assert!(first.len() > 1, "the same arm is first in every round: {first:?}");
}

/// Two transports as two variants. Bindings name NICs only for the arms that use them.
#[test]
fn compares_two_transports_in_one_run() {
    let dir = TestDir::new();
    let variants = "[{name: baseline}, {name: tcp, transport: {libfabric: {provider: tcp, rails: 2}}}]";
    let scenarios = "[{name: small, pingPong: {sizes: [64], iterations: 100}}, \
                     {name: bulk, transfer: {sizes: [16Ki], iterations: 100}}]";
    let transport = "{loopback: {rails: 2}}";
    let rounds = format!("sampling: {{rounds: {ROUNDS}, minWindow: 5ms}}");
    let text = super::manifest::run(variants, transport, scenarios, &[&rounds]);
    let plan = RunningCommand::start(fabricbench(["plan", &dir.manifest(&text)]))
        .wait()
        .expect_code(0);
    plan.expect_stdout("differs in transport");
    plan.expect_stdout(
        "scenario bulk: a sample of tcp ends when the provider reports the delivery of the write, and a sample of the \
         baseline ends when the target's process has copied the data",
    );
    let output = RunningCommand::start(dir.run(&dir.manifest(&text))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    output.expect_stdout("loopback, libfabric");

    let stored = StoredRun::read(&dir.run_dir(super::manifest::NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    for endpoints in stored.endpoints() {
        let facts = endpoints.fabric.as_ref().unwrap();
        let is_tcp = endpoints.arm == "tcp";
        assert_eq!(facts.library.is_some(), is_tcp, "{}", endpoints.arm);
        assert_eq!(facts.rails[0].address.starts_with("127.0.0.1"), is_tcp);
    }
    let arms: BTreeSet<&str> = stored.endpoints().iter().map(|one| one.arm.as_str()).collect();
    assert_eq!(arms, ["baseline", "control-environment", "tcp"].into());
    let comparisons = &stored.status().comparisons;
    let tcp = comparisons
        .iter()
        .find(|one| one.arm == "tcp" && one.size_bytes == 64);
    assert_eq!(
        tcp.unwrap().verdict,
        Some(Verdict::Regressed),
        "loopback is several times as fast"
    );
}

/// `examples/ucx-against-libfabric.yaml` with a third variant, which loads another UCX.
#[test]
fn compares_two_versions_of_ucx_with_libfabric_in_one_run() {
    let variable = "FABRICBENCH_TEST_UCX_2";
    let newer = env::var(variable).expect("FABRICBENCH_TEST_UCX_2 is set by .ci/test");
    let text = fs::read_to_string(workspace().join("examples/ucx-against-libfabric.yaml")).unwrap();
    let mut manifest: Value = serde_yaml::from_str(&text).unwrap();
    let variants = manifest["spec"]["variants"].as_sequence_mut().unwrap();
    let mut variant = variants[1].clone();
    variant["name"] = "ucx-newer".into();
    variant["library"] = newer.clone().into();
    variants.push(variant);
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&serde_yaml::to_string(&manifest).unwrap()));
    command.args(["--rounds", &(ROUNDS + 1).to_string()]);
    let output = RunningCommand::start(command).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");

    let stored = StoredRun::read(&dir.run_dir("ucx-against-libfabric"));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for endpoints in stored.endpoints() {
        let facts = endpoints.fabric.as_ref().unwrap();
        let library = facts.library.as_ref().unwrap();
        paths.entry(&endpoints.arm).or_default().insert(&library.path);
        if endpoints.arm.starts_with("ucx") {
            assert_eq!(library.name, "ucx");
            assert_eq!(facts.rails[0].lanes, ["tcp/lo"], "{facts:?}");
            assert!(facts.configuration_sha256.is_some());
        }
    }
    assert!(
        paths["ucx-newer"].iter().all(|path| path.starts_with(&newer)),
        "{paths:?}"
    );
    assert!(paths["ucx"].is_disjoint(&paths["ucx-newer"]));
    // UCX emulates writes over tcp, but not messages.
    let results = stored.status().results.iter();
    for result in results.filter(|result| result.arm.starts_with("ucx") && result.scenario == "writes") {
        assert_eq!(result.emulated, Some(Answer::True), "{result:?}");
    }
    let warnings = stored.records().filter_map(|record| match record {
        Record::Warning(warning) => Some(warning),
        _ => None,
    });
    let changed = warnings.filter(|warning| warning.reason == WarningReason::EnvironmentChanged);
    assert_eq!(changed.count(), 0, "endpoints must not differ between rounds");
}

/// Returns the directory that contains UCX 1.21 or newer.
pub fn newer_ucx() -> String {
    env::var("FABRICBENCH_TEST_UCX_2").expect("FABRICBENCH_TEST_UCX_2 is set by .ci/test")
}

/// UCX variants that differ in the error handling mode and in whether UCX allocates the memory. Every byte is verified.
#[test]
fn compares_error_handling_and_allocation_of_ucx() {
    let library = newer_ucx();
    let variants = format!(
        "[{{name: baseline, library: {library}}}, \
         {{name: direct, library: {library}, transport: {{ucx: {{transports: [tcp], errorHandling: None}}}}}}, \
         {{name: sm, library: {library}, transport: {{ucx: {{transports: [sm], allocation: Library}}}}}}, \
         {{name: sm-old, transport: {{ucx: {{transports: [sm], allocation: Library}}}}}}]"
    );
    let transport = "{ucx: {transports: [tcp], emulation: Allow}}";
    let scenarios = "[{name: put, transfer: {operation: Write, sizes: [64Ki], iterations: 100}}]";
    let sampling = "sampling: {rounds: 2, minWindow: 5ms}";
    let dir = TestDir::new();
    let text = super::manifest::run(&variants, transport, scenarios, &[sampling]);
    let output = RunningCommand::start(dir.run(&dir.manifest(&text))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    // The header does not repeat the library of variants that differ in other fields.
    assert_eq!(output.stdout.matches("(tcp)").count(), 1, "{output}");

    let stored = StoredRun::read(&dir.run_dir(super::manifest::NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    for endpoints in stored.endpoints() {
        let arm = endpoints.arm.as_str();
        let facts = endpoints.fabric.as_ref().unwrap();
        let mode = if arm == "direct" || arm.starts_with("sm") {
            "none"
        } else {
            "peer"
        };
        assert_eq!(facts.error_handling.as_deref(), Some(mode), "{arm}");
        let registration = match arm.starts_with("sm") {
            true => "ucp_mem_map (allocated by UCX)",
            false => "ucp_mem_map",
        };
        assert!(!facts.memory.is_empty(), "{arm}");
        for memory in &facts.memory {
            assert_eq!(memory.registration, registration, "{arm}");
        }
        let emulated = match arm {
            "direct" | "sm" => Answer::False,
            "sm-old" => Answer::Unknown,
            _ => Answer::True,
        };
        assert_eq!(facts.offload.emulated_writes, Some(emulated), "{arm}");
    }
    assert_protocols(&stored);
    let cases = stored.cases();
    for arm in ["baseline", "direct", "sm", "sm-old"] {
        let verified = cases
            .iter()
            .any(|case| case.arm == arm && case.pass == Pass::Integrity);
        assert!(verified, "{arm}");
    }
}

/// Writes that complete when their source memory can be reused. Every byte is verified after a flush.
#[test]
fn writes_of_ucx_can_complete_locally() {
    let variants = format!("[{{name: baseline}}, {{name: newer, library: {}}}]", newer_ucx());
    let transport = "{ucx: {transports: [tcp], emulation: Allow, writeCompletion: Local}}";
    let scenarios = "[{name: put, transfer: {operation: Write, sizes: [4Ki, 256Ki], iterations: 100}}]";
    let sampling = "sampling: {rounds: 2, minWindow: 5ms}";
    let dir = TestDir::new();
    let text = super::manifest::run(&variants, transport, scenarios, &[sampling]);
    let plan = RunningCommand::start(fabricbench(["plan", &dir.manifest(&text)]))
        .wait()
        .expect_code(0);
    plan.expect_stdout("writes complete locally");
    let output = RunningCommand::start(dir.run(&dir.manifest(&text))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    output.expect_stdout("with writes that complete locally");

    let stored = StoredRun::read(&dir.run_dir(super::manifest::NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let verified = stored
        .cases()
        .into_iter()
        .filter(|case| case.pass == Pass::Integrity);
    assert_eq!(
        verified.count(),
        2 * 3,
        "both sizes with the baseline, the variant and the control"
    );
}

/// Checks that the status contains the protocols that UCX 1.22 reports, and that these protocols determine whether
/// writes count as emulated.
fn assert_protocols(stored: &StoredRun) {
    for result in &stored.status().results {
        let found: Vec<_> = result
            .protocols
            .iter()
            .map(|protocol| (protocol.description.as_str(), protocol.lanes.as_str()))
            .collect();
        let (expected, emulated) = match result.arm.as_str() {
            "direct" => (vec![("zero-copy", "tcp/lo")], Answer::False),
            "sm" => (vec![("zero-copy", "cma/memory")], Answer::False),
            // UCX 1.13 does not report its protocols.
            "sm-old" => (Vec::new(), Answer::Unknown),
            _ => (vec![("software emulation", "tcp/lo")], Answer::True),
        };
        assert_eq!(
            (found, result.emulated),
            (expected, Some(emulated)),
            "{}",
            result.arm
        );
        // Every transfer of the integrity pass and of the pilot posts one put.
        assert!(
            result.protocols.iter().all(|protocol| protocol.count >= 100),
            "{result:?}"
        );
    }
}
