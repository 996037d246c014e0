//! Variants that differ from the baseline in environment variables or in the library: a misspelled variable, one with an
//! effect, one with the value that applies anyway, and a library with the baseline's contents.

use std::{env, fs};

use crds::record::{Record, VariableKnowledge};
use crds::v1alpha1::{ComparisonResult, Verdict, WithheldReason};

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::libraries::{newer_library, newer_ucx};
use super::manifest::{NAME, TCP, run};
use super::stored_run::StoredRun;

const UCX: &str = "{ucx: {transports: [tcp], emulation: Allow}}";
const NIXL: &str = "{nixl: {backend: UCX, parameters: [{name: engine_config, value: TLS=tcp}]}}";
const SCENARIO: &str = "[{name: small, pingPong: {sizes: [64], iterations: 200, warmup: 20}}]";
/// Enough rounds for a verdict on four comparisons.
const SAMPLING: &str = "sampling: {rounds: 8, marginPercent: 50, control: false, minWindow: 1ms}";

/// Runs `variants` with a baseline, and returns the run and the text report.
fn measure(baseline: &str, variants: &str, transport: &str, scenarios: &str) -> (StoredRun, String) {
    let dir = TestDir::new();
    let variants = format!("[{{name: baseline{baseline}}}, {variants}]");
    let text = run(&variants, transport, scenarios, &[SAMPLING]);
    let output = RunningCommand::start(dir.run(&dir.manifest(&text))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    // The report wraps its lines.
    let text = format!("{}{}", output.stdout, output.stderr);
    (stored, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The comparison of `arm` on the primary metric.
fn comparison<'a>(stored: &'a StoredRun, arm: &str) -> &'a ComparisonResult {
    let mut comparisons = stored.status().comparisons.iter();
    comparisons.find(|one| one.arm == arm && one.primary).unwrap()
}

/// Checks that the verdict on `arm` is withheld because it cannot have an effect, and that the reason contains `parts`.
fn assert_not_engaged(stored: &StoredRun, arm: &str, parts: &[&str]) {
    let found = comparison(stored, arm);
    assert_eq!(found.withheld, Some(WithheldReason::NotEngaged), "{found:?}");
    assert_eq!(found.verdict, None);
    let reason = found.reason.as_deref().unwrap_or_default();
    for part in parts {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

/// Checks that `arm` has a verdict, whatever this machine's noise makes of it.
fn assert_verdict(stored: &StoredRun, arm: &str) {
    let found = comparison(stored, arm);
    assert_ne!(found.withheld, Some(WithheldReason::NotEngaged), "{found:?}");
    assert!(
        found.verdict.is_some_and(|verdict| matches!(
            verdict,
            Verdict::Improved | Verdict::NoChange | Verdict::Regressed | Verdict::Inconclusive
        )),
        "{found:?}"
    );
}

/// What the records of `arm` say about the variable `name`.
fn knowledge(stored: &StoredRun, arm: &str, name: &str) -> Vec<(VariableKnowledge, Option<String>)> {
    let mut found = Vec::new();
    for record in stored.records() {
        if let Record::Configuration(record) = record
            && record.arms.iter().any(|one| one == arm)
        {
            let variables = record.variables.iter().filter(|variable| variable.name == name);
            found.extend(variables.map(|variable| (variable.knowledge, variable.effective.clone())));
        }
    }
    found
}

#[test]
fn variables_of_both_libfabric_releases() {
    let newer = newer_library();
    for (library, prefix, misspelled) in [
        (String::new(), "FI_NET", "FI_NET_TX_SIEZ"),
        (format!(", library: {newer}"), "FI_TCP", "FI_TCP_TX_SIEZ"),
    ] {
        let variants = format!(
            "{{name: misspelled{library}, env: [{{name: {misspelled}, value: \"1\"}}]}}, \
             {{name: effect{library}, env: [{{name: {prefix}_TX_SIZE, value: \"128\"}}]}}, \
             {{name: default{library}, env: [{{name: {prefix}_TX_SIZE, value: \"0x100\"}}]}}, \
             {{name: mixed{library}, env: [{{name: {misspelled}, value: \"1\"}}, {{name: {prefix}_TX_SIZE, value: \"64\"}}]}}, \
             {{name: elsewhere{library}, env: [{{name: UCX_TLS, value: tcp}}]}}"
        );
        let (stored, text) = measure(&library, &variants, TCP, SCENARIO);
        let known = format!("did you mean {prefix}_TX_SIZE?");
        assert_not_engaged(
            &stored,
            "misspelled",
            &[misspelled, "is not a variable of libfabric", &known],
        );
        assert_not_engaged(
            &stored,
            "default",
            &["its effective value is 256, as in the baseline"],
        );
        assert_not_engaged(
            &stored,
            "elsewhere",
            &["UCX_TLS belongs to UCX, which is not loaded"],
        );
        assert_verdict(&stored, "effect");
        assert_verdict(&stored, "mixed");
        assert!(
            text.contains("its effective value is 128 instead of 256"),
            "{text}"
        );
        assert!(
            text.contains(&format!("{misspelled}=1 of arm \"mixed\" had no effect")),
            "{text}"
        );
        let name = format!("{prefix}_TX_SIZE");
        assert_eq!(
            knowledge(&stored, "effect", &name),
            [(VariableKnowledge::Known, Some("128".to_owned()))]
        );
    }
}

/// Debian's libfabric 1.17 uses the provider net for tcp, and has no provider efa.
#[test]
fn variables_of_providers_that_are_not_used_have_no_effect() {
    let variants = "{name: other, env: [{name: FI_TCP_NODELAY, value: \"0\"}]}, \
                    {name: absent, env: [{name: FI_EFA_USE_DEVICE_RDMA, value: \"1\"}]}";
    let (stored, _) = measure("", variants, TCP, SCENARIO);
    assert_not_engaged(
        &stored,
        "other",
        &[
            "the provider tcp",
            "the provider in use is net",
            "did you mean FI_NET_NODELAY?",
        ],
    );
    assert_not_engaged(&stored, "absent", &["this build has no provider efa"]);
}

#[test]
fn variables_of_both_ucx_releases() {
    for library in [String::new(), format!(", library: {}", newer_ucx())] {
        let variants = format!(
            "{{name: misspelled{library}, env: [{{name: UCX_TCP_TX_SEG_SIEZ, value: 16k}}]}}, \
             {{name: effect{library}, env: [{{name: UCX_TCP_TX_SEG_SIZE, value: 16k}}]}}, \
             {{name: default{library}, env: [{{name: UCX_TCP_NODELAY, value: \"yes\"}}]}}, \
             {{name: applied{library}, env: [{{name: UCX_TLS, value: \"tcp,self\"}}]}}"
        );
        let (stored, text) = measure(&library, &variants, UCX, SCENARIO);
        assert_not_engaged(
            &stored,
            "misspelled",
            &[
                "UCX_TCP_TX_SEG_SIEZ is not a setting of UCX",
                "did you mean UCX_TCP_TX_SEG_SIZE?",
            ],
        );
        assert_not_engaged(
            &stored,
            "default",
            &["its effective value is y, as in the baseline"],
        );
        // The transport applies the same setting to the baseline.
        assert_not_engaged(&stored, "applied", &["its effective value is tcp,self"]);
        assert_verdict(&stored, "effect");
        assert!(
            text.contains("its effective value is 16K instead of 8K"),
            "{text}"
        );
    }
}

#[test]
fn variables_of_nixl_and_of_the_ucx_in_it() {
    let Ok(nixl) = env::var("FABRICBENCH_TEST_NIXL") else {
        println!("skipped: FABRICBENCH_TEST_NIXL does not name a directory with NIXL");
        return;
    };
    let library = format!(", library: {nixl}");
    let variants = format!(
        "{{name: misspelled{library}, env: [{{name: NIXL_UCX_SGL_ENABEL, value: \"1\"}}]}}, \
         {{name: known{library}, env: [{{name: NIXL_UCX_SGL_ENABLE, value: \"1\"}}]}}, \
         {{name: ucx{library}, env: [{{name: UCX_TCP_TX_SEG_SIZE, value: 16k}}]}}, \
         {{name: default{library}, env: [{{name: UCX_TCP_NODELAY, value: \"y\"}}]}}"
    );
    let scenario = "[{name: small, transfer: {operation: Write, sizes: [64], iterations: 200}}]";
    let (stored, text) = measure(&library, &variants, NIXL, scenario);
    assert_not_engaged(
        &stored,
        "misspelled",
        &[
            "no loaded file contains the name NIXL_UCX_SGL_ENABEL",
            "did you mean NIXL_UCX_SGL_ENABLE?",
        ],
    );
    assert_not_engaged(&stored, "default", &["as in the baseline"]);
    assert_verdict(&stored, "known");
    assert_verdict(&stored, "ucx");
    assert!(
        text.contains("contains the name, which does not report the effective value"),
        "{text}"
    );
    assert!(text.contains("instead of 8K"), "{text}");
}

/// A library directory with a copy of the baseline's library.
#[test]
fn a_library_with_the_same_contents_is_not_engaged() {
    let newer = newer_library();
    let copy = TestDir::new();
    let directory = copy.run_dir("copy");
    // The library loads its providers from a directory next to it.
    for (from, to) in [
        (newer.clone(), directory.clone()),
        (format!("{newer}/libfabric"), directory.join("libfabric")),
    ] {
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }
    let variants = format!("{{name: copy, library: {}}}, {{name: old}}", directory.display());
    let variants = variants.replace(
        "{name: old}",
        "{name: old, env: [{name: LD_BIND_NOW, value: \"1\"}]}",
    );
    let (stored, text) = measure(&format!(", library: {newer}"), &variants, TCP, SCENARIO);
    assert_not_engaged(
        &stored,
        "copy",
        &[
            "the arm loaded the same files as the baseline",
            "libfabric.so.1 2.",
        ],
    );
    // The variable of the loader cannot be assessed, but this arm also has another library.
    assert_verdict(&stored, "old");
    assert!(text.contains("which the baseline did not load"), "{text}");
}

#[test]
fn plan_and_run_report_unknown_names_before_anything_is_measured() {
    let dir = TestDir::new();
    let variants = "[{name: baseline}, {name: typo, env: [{name: FI_UNIVERSE_SIZ, value: \"16\"}, {name: MY_APP_X, value: \"1\"}]}]";
    let file = dir.manifest(&run(variants, TCP, SCENARIO, &[SAMPLING]));
    let output = RunningCommand::start(fabricbench(["plan", &file]))
        .wait()
        .expect_code(0);
    output.expect_stdout("warning: variant typo: FI_UNIVERSE_SIZ is not a variable of libfabric");
    output.expect_stdout("did you mean FI_UNIVERSE_SIZE?");
    assert!(!output.stdout.contains("MY_APP_X is not"), "{output}");
    let output = RunningCommand::start(fabricbench(["plan", &file, "--format", "json"]))
        .wait()
        .expect_code(0);
    let plans: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(plans[0]["variableNotes"].as_array().unwrap().len(), 1, "{output}");
    let image = run(
        &variants.replace("typo,", "typo, image: example/other,"),
        TCP,
        SCENARIO,
        &[SAMPLING],
    );
    let output = RunningCommand::start(fabricbench(["plan", &dir.manifest(&image)]))
        .wait()
        .expect_code(0);
    output.expect_stdout("are not checked here, because the libraries are in the images of the workers");
}
