//! Tests the notes, each with a small run that causes it.

use super::*;
use crate::plan::plan;
use crate::validate::validate;

const HEAD: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  baseline: a\n  striping: {policy: Nixl, thresholdBytes: 16Ki}\n";
const DOORBELL: &str = "  variants: [{name: a}, {name: b, doorbell: {maxBatch: 4}}]\n";
const COALESCE: &str = "  variants: [{name: a}, {name: b, striping: {policy: NixlCoalesce}}]\n";
const TCP: &str = "  transport: {libfabric: {provider: tcp, rails: 4}}\n";
const MID: &str = "  scenarios: [{name: mid, transfer: {sizes: [32Ki, 64Ki], batch: 8}}]\n";

fn plan_parts(parts: &[&str]) -> Plan {
    let text = format!("{HEAD}{}", parts.concat());
    let run = crate::fixture::run_from_yaml(&text);
    plan(&validate(&run).unwrap()).unwrap().into()
}

fn notes(parts: &[&str]) -> Vec<String> {
    check(&plan_parts(parts)).iter().map(Note::to_string).collect()
}

fn contains_note(notes: &[String], start: &str, part: &str) -> bool {
    notes
        .iter()
        .any(|note| note.starts_with(start) && note.contains(part))
}

#[test]
fn warns_about_too_few_rounds() {
    let found = notes(&[DOORBELL, TCP, MID, "  sampling: {rounds: 5}\n"]);
    assert!(
        contains_note(
            &found,
            "warning: scenario mid: 5 rounds are too few",
            "at least 7 are needed, 11 are recommended"
        ),
        "{found:?}"
    );
    let found = notes(&[DOORBELL, TCP, MID, "  sampling: {rounds: 8}\n"]);
    assert!(
        contains_note(&found, "note: scenario mid: with 8 rounds", "11 are recommended"),
        "{found:?}"
    );
    let found = notes(&[DOORBELL, TCP, MID]);
    assert!(!contains_note(&found, "", " rounds "), "{found:?}");
}

#[test]
fn warns_about_a_client_that_does_not_get_the_address_of_its_server() {
    let command = |client: &str, server: &str| {
        let text = format!(
            "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: test}}\nspec:\n  baseline: a\n  \
             variants: [{{name: a, arguments: ['-h{{server}}']}}, {{name: b, arguments: [-v]}}]\n{TCP}  scenarios:\n  \
             - name: s\n    primaryMetric: ReportedLatency\n    command:\n      tool: Fabtests\n      sizes: [64]\n      \
             {server}client: {client}\n"
        );
        let run = crate::fixture::run_from_yaml(&text);
        let plan: Plan = plan(&validate(&run).unwrap()).unwrap().into();
        check(&plan).iter().map(Note::to_string).collect::<Vec<_>>()
    };
    let server = "server: [tool, -p, '{port}', '{arguments}']\n      ";
    let start = |arms: &str| {
        format!("warning: scenario s: the client of {arms} has no argument with the placeholder {{server}}")
    };
    let found = command("[tool]", server);
    assert!(
        contains_note(&found, &start("a, b"), "add {server} to command.client"),
        "{found:?}"
    );
    let found = command("[tool, '{arguments}']", server);
    assert!(contains_note(&found, &start("b"), ""), "{found:?}");
    for found in [
        command("[tool, '{server}:1']", server),
        command("[tool, '{arguments}']", ""),
    ] {
        assert!(!contains_note(&found, "", "{server}"), "{found:?}");
    }
}

#[test]
fn warns_about_a_run_that_cannot_end_early() {
    let found = notes(&[DOORBELL, TCP, MID, "  sampling: {rounds: 12, stop: Settled}\n"]);
    let start = "warning: sampling.stop is Settled, but 12 rounds allow only one analysis";
    assert!(contains_note(&found, start, "raise sampling.rounds"), "{found:?}");
    let found = notes(&[DOORBELL, TCP, MID, "  sampling: {stop: Settled}\n"]);
    assert!(!contains_note(&found, "", "analysis"), "{found:?}");
}

#[test]
fn notes_transport_without_doorbells() {
    assert!(contains_note(
        &notes(&[DOORBELL, TCP, MID]),
        "note: provider tcp has no doorbell",
        "in b"
    ));
    assert!(!contains_note(&notes(&[COALESCE, TCP, MID]), "", "doorbell"));
}

#[test]
fn notes_that_writes_over_verbs_do_not_report_delivery() {
    let verbs = "  transport: {libfabric: {provider: verbs, rails: 4}}\n";
    let note = "note: scenario mid: over verbs, a write is complete";
    assert!(contains_note(
        &notes(&[DOORBELL, verbs, MID]),
        note,
        "WriteImmediate"
    ));
    assert!(!contains_note(&notes(&[DOORBELL, TCP, MID]), note, ""));
    let immediate = MID.replace("batch: 8", "batch: 8, operation: WriteImmediate");
    assert!(!contains_note(&notes(&[DOORBELL, verbs, &immediate]), note, ""));
}

#[test]
fn notes_negative_controls_and_warns_about_a_single_rail() {
    let found = notes(&[COALESCE, TCP, MID]);
    assert!(
        contains_note(
            &found,
            "note: scenario mid: b posts exactly as the baseline does",
            "at 64Ki: negative control"
        ),
        "{found:?}"
    );
    let shm = "  transport: {libfabric: {provider: shm}}\n";
    assert!(contains_note(
        &notes(&[COALESCE, shm, MID]),
        "warning: the transport has only one rail",
        "in b"
    ));
}

#[test]
fn warns_about_bursts_with_one_post() {
    let mixed = "  scenarios: [{name: mid, transfer: {sizes: [64Ki], batch: 8}}, {name: one, transfer: {sizes: [64Ki]}}]\n";
    let found = notes(&[DOORBELL, TCP, mixed]);
    assert!(
        contains_note(
            &found,
            "warning: scenario one: b has only one post per rail per burst",
            "raise batch to 8"
        ),
        "{found:?}"
    );
    assert!(!contains_note(&found, "warning: scenario mid", ""), "{found:?}");
}

#[test]
fn notes_small_windows_and_warns_about_long_runs() {
    let window =
        "  scenarios: [{name: mid, transfer: {sizes: [64Ki], batch: 8, window: 8, duration: 20s}}]\n";
    let found = notes(&[
        DOORBELL,
        TCP,
        window,
        "  runPolicy: {activeDeadlineSeconds: 60}\n",
    ]);
    assert!(
        contains_note(
            &found,
            "note: scenario mid: window 8 is less than two bursts of 8",
            ""
        ),
        "{found:?}"
    );
    assert!(
        contains_note(&found, "warning: the run may take", "activeDeadlineSeconds 60"),
        "{found:?}"
    );
}

/// The cases of other scenarios are measured, so the plan is valid.
#[test]
fn warns_about_waiting_with_a_library_that_cannot() {
    // NIXL has no messages, so the scenarios write.
    let scenarios = "  scenarios:\n  - {name: asleep, polling: Wait, transfer: {sizes: [64], operation: Write}}\n  \
                     - {name: awake, transfer: {sizes: [64], operation: Write}}\n";
    for transport in [
        "  transport: {libfabric: {provider: shm}}\n",
        "  transport: {nixl: {backend: UCX}}\n",
    ] {
        let found = notes(&["  variants: [{name: a}]\n", transport, scenarios]);
        assert!(
            contains_note(
                &found,
                "warning: scenario asleep: ",
                "cannot wait for completions"
            ),
            "{found:?}"
        );
        assert!(
            !contains_note(&found, "warning: scenario awake: ", ""),
            "{found:?}"
        );
    }
    let found = notes(&["  variants: [{name: a}]\n", TCP, scenarios]);
    assert!(
        !contains_note(&found, "warning: scenario asleep: ", ""),
        "{found:?}"
    );
}

#[test]
fn warns_about_slow_cases_and_too_few_samples_for_tails() {
    let slow = "  scenarios: [{name: mid, primaryMetric: LatencyP99_9, transfer: {sizes: [1Gi], batch: 8, iterations: 1000}}]\n";
    let found = notes(&[DOORBELL, TCP, slow]);
    assert!(
        contains_note(
            &found,
            "warning: scenario mid: a case of 1Gi may take longer",
            "60"
        ),
        "{found:?}"
    );
    assert!(
        contains_note(
            &found,
            "warning: scenario mid: iterations 1000 does not ensure",
            ""
        ),
        "{found:?}"
    );
}

#[test]
fn warns_about_expectations_where_no_optimization_applies() {
    let expected =
        "  expectations: [{variant: b, scenario: mid, metric: Throughput, increasePercent: {min: 2}}]\n";
    let found = notes(&[COALESCE, TCP, MID, expected]);
    assert!(
        contains_note(
            &found,
            "warning: expectation 0: no optimization of b applies",
            "at 64Ki in"
        ),
        "{found:?}"
    );
}

#[test]
fn warns_about_sends_longer_than_a_packet_on_efa_direct() {
    let efa = "  transport: {libfabric: {provider: efa-direct, rails: 4}}\n  resources: {efas: 4}\n";
    let send = "  scenarios: [{name: mid, transfer: {operation: Send, sizes: [16Ki, 64Ki], batch: 8}}]\n";
    let found = notes(&[DOORBELL, efa, send]);
    assert!(
        contains_note(
            &found,
            "warning: scenario mid: efa-direct sends at most one packet",
            "16Ki"
        ),
        "{found:?}"
    );
}

#[test]
fn finds_inconsistent_plans() {
    let consistent = plan_parts(&[COALESCE, TCP, MID]);
    let is_fatal = |breakage: fn(&mut Plan)| {
        let mut plan = consistent.clone();
        breakage(&mut plan);
        check(&plan).iter().any(|note| note.severity == Severity::Fatal)
    };
    assert!(!is_fatal(|_| ()));
    assert!(is_fatal(|plan| plan.arms[1].name = "a".to_owned()));
    assert!(is_fatal(|plan| plan.baseline = 9));
    assert!(is_fatal(|plan| plan.blocks_total += 1));
    assert!(is_fatal(|plan| plan.legs[0].rounds[1].blocks[0].block = 0));
    assert!(is_fatal(|plan| plan.legs[0].rounds[1].blocks[0].order[0] = 9));
    assert!(is_fatal(|plan| plan.legs[0].rounds[1].arm_order.truncate(1)));
    assert!(is_fatal(|plan| {
        plan.legs[0].rounds.pop();
    }));
    assert!(is_fatal(|plan| plan.legs[0].rounds[1].round = 0));
    assert!(is_fatal(|plan| plan.legs[0].arms[0].1 = 7));
    assert!(is_fatal(|plan| plan.legs[0].image = Some("other".to_owned())));
    assert!(is_fatal(|plan| {
        plan.scenarios[0].cells.pop();
    }));
}
