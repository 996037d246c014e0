//! Concurrent flows: the rate of a shaped link, several receivers over several libraries, and lost flows.

use crds::quantity::Quantity;
use crds::record::{CaseResult, FailureReason, Simultaneous};
use crds::v1alpha1::{ArmResult, CaseValidity, FabricProof, State};
use rustix::process::{Signal, kill_process};

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::manifest::{LOOPBACK, NAME, TCP, run};
use super::network_namespace::with_loopback;
use super::stored_run::{StoredRun, blocks, streams};

const INCAST: &str = "placement: {pattern: ManyToMany, senders: 4, receivers: 1}";
const TWO_BY_TWO: &str = "placement: {pattern: ManyToMany, senders: 2, receivers: 2}";
const ONE: &str = "[{name: baseline}]";
/// Rate limit of the loopback interface, in bits per second.
const RATE: f64 = 100e6;
/// Maximum error of the total flow rate.
const TOLERANCE: f64 = 0.05;

/// Returns the windows of the measured flows, each with the time from the command that opens the windows of all flows
/// to the last report that a window has closed.
fn windows(stored: &StoredRun) -> Vec<(u64, Simultaneous)> {
    let cases = stored.cases().into_iter();
    let window = |case: &crds::record::CaseRecord| match &case.result {
        CaseResult::Measured(measured) => {
            let window = measured.initiator.posted.as_ref()?.simultaneous?;
            assert_eq!(measured.target.posted, None);
            Some((case.span_nanos?, window))
        }
        CaseResult::Checked(_) | CaseResult::Failed(_) => None,
    };
    cases.filter_map(window).collect()
}

fn result_of<'a>(stored: &'a StoredRun, arm: &str) -> &'a ArmResult {
    let mut results = stored.status().results.iter();
    results.find(|result| result.arm == arm).unwrap()
}

#[test]
fn total_flow_rate_is_within_5_percent_of_the_link_rate() {
    let dir = TestDir::new();
    // The in-flight transfers of all flows take 0.2 s on the link, so the link stays busy even while a worker waits for
    // a CPU. The queue holds all of them, so none is dropped. The workers sleep, so they do not take CPU time from each
    // other. The coordinator's messages share the link, so the windows are much longer than the time that these
    // messages take.
    let scenarios = "[{name: incast, integrity: false, polling: Wait, \
                     transfer: {sizes: [64Ki], window: 8, duration: 3s, warmup: 4}}]";
    let sampling = "sampling: {rounds: 3, control: false}";
    let manifest = dir.manifest(&run(ONE, TCP, scenarios, &[sampling, INCAST]));
    let shape = "tbf rate 100mbit burst 256k latency 500ms";
    let output = RunningCommand::start(with_loopback(shape, &dir.run(&manifest))).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let [result] = &stored.status().results[..] else {
        panic!("{:?}", stored.status().results);
    };
    println!("{result:?}");
    assert_eq!((result.validity, result.valid_rounds), (CaseValidity::Valid, 3));
    assert_eq!(result.fabric, Some(FabricProof::Verified));
    let rate = result.value(Quantity::BytesPerSecond).unwrap() as f64 * 8.0;
    assert!((rate / RATE - 1.0).abs() < TOLERANCE, "{rate}");
    let flows = |quantity| result.value(quantity).unwrap();
    // The median of a sum and the sum of medians differ only slightly.
    let sum = 2 * flows(Quantity::FlowsMedianBytesPerSecond)
        + flows(Quantity::FlowsSlowestBytesPerSecond)
        + flows(Quantity::FlowsFastestBytesPerSecond);
    assert!(
        (sum as f64 * 8.0 / RATE - 1.0).abs() < 3.0 * TOLERANCE,
        "{result:?}"
    );
    assert_eq!(
        flows(Quantity::FlowsSlowestReceiverBytesPerSecond),
        flows(Quantity::FlowsFastestReceiverBytesPerSecond)
    );
    assert!(
        (250_000..=1_000_000).contains(&flows(Quantity::FlowsFairnessPpm)),
        "{result:?}"
    );
    // A transfer waits for the transfers of the other flows: 32 transfers of 64 KiB take 168 ms on this link.
    assert!(
        result.value(Quantity::LatencyP99Nanos).unwrap() > 100_000_000,
        "{result:?}"
    );
    assert!(
        output.stdout.contains("4 flows at the same time"),
        "{}",
        output.stdout
    );
}

#[test]
fn flow_windows_lie_within_the_time_when_all_flows_are_active() {
    let dir = TestDir::new();
    let libraries =
        "[{name: baseline}, {name: ucx, transport: {ucx: {transports: [tcp], emulation: Allow}}}]";
    let scenarios = "[{name: writes, transfer: {sizes: [16Ki], window: 8, duration: 1s}}, \
                     {name: sends, transfer: {sizes: [4Ki], operation: Send, threads: 2, duration: 1s}}]";
    let sampling = "sampling: {rounds: 2, control: false}";
    let manifest = dir.manifest(&run(libraries, TCP, scenarios, &[sampling, TWO_BY_TWO]));
    let output = RunningCommand::start(dir.run(&manifest)).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let windows = windows(&stored);
    // Two arms, scenarios and rounds, with four flows each.
    assert_eq!(windows.len(), 2 * 2 * 2 * 4);
    for (span_nanos, window) in &windows {
        // The window that closes last may end with the last transfer.
        assert!(window.lead_nanos > 0, "{window:?}");
        assert!(window.elapsed_nanos >= 1_000_000_000, "{window:?}");
        // The completion that opens a window may precede the command's arrival by up to one transfer, so a window can
        // be longer than the span by at most one transfer.
        assert!(
            *span_nanos as f64 > 0.99 * window.elapsed_nanos as f64,
            "{span_nanos} {window:?}"
        );
    }
    for arm in ["baseline", "ucx"] {
        let result = result_of(&stored, arm);
        let flows = |quantity| result.value(quantity).unwrap();
        println!("{arm}: {:?}", result.values);
        assert!(flows(Quantity::FlowsSlowestBytesPerSecond) > 0, "{result:?}");
        assert!(
            flows(Quantity::FlowsSlowestReceiverBytesPerSecond) > flows(Quantity::FlowsSlowestBytesPerSecond),
            "{result:?}"
        );
    }
    // The integrity pass checks the bytes of every flow.
    let cases = stored.cases().into_iter();
    let checked =
        cases.filter(|case| matches!(&case.result, CaseResult::Checked(report) if report.bytes > 0));
    assert_eq!(checked.count(), 2 * 2 * 4);
    assert!(output.stdout.contains("receivers "), "{}", output.stdout);
    let finished = dir.run_dir(NAME).display().to_string();
    for (format, expected) in [
        ("html", "Rate of each flow"),
        ("json", "\"fairness\""),
        ("csv", "flows_fairness_ppm"),
    ] {
        let output = RunningCommand::start(fabricbench(["report", &finished, "--format", format])).wait();
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
}

/// Flows that last long enough for a test to intervene, in two blocks for each round.
const LONG: &str = "[{name: flows, transfer: {sizes: [1Ki, 4Ki], window: 4, duration: 1s}}]";
const ROUNDS: &str = "sampling: {rounds: 2, control: false}";
const DEADLINE: &str = "runPolicy: {caseDeadlineSeconds: 10}";

/// Starts a campaign with an integrity round and two measured rounds of two blocks each. Returns during the second
/// block of round 1.
fn start_measuring(dir: &TestDir, manifest: &str) -> RunningCommand {
    let mut running = RunningCommand::start(dir.run(&dir.manifest(manifest)));
    let records = dir.run_dir(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done == Some(3)).then_some(())
    });
    running
}

#[test]
fn killed_sender_is_named_in_the_failure_of_every_flow() {
    let dir = TestDir::new();
    let manifest = run(ONE, LOOPBACK, LONG, &[ROUNDS, DEADLINE, TWO_BY_TWO]);
    let mut running = start_measuring(&dir, &manifest);
    kill_process(running.instrument(1).id(), Signal::KILL).unwrap();
    running.wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let failures = stored.failures();
    assert_eq!(failures.len(), 4, "expected failures of all flows: {failures:?}");
    for (case, failure) in &failures {
        assert_eq!(
            (case.round, failure.reason),
            (1, FailureReason::PeerLost),
            "{failure:?}"
        );
        let names_sender = match case.initiator {
            1 => failure.message.contains("rank 1: instrument process 0"),
            _ => failure.message.contains("the flow from rank 1 to rank "),
        };
        assert!(names_sender, "{failure:?}");
    }
    let lost = failures[0].0.size_bytes;
    for result in &stored.status().results {
        let rounds = if result.size_bytes == lost { 1 } else { 2 };
        assert_eq!(result.valid_rounds, rounds, "{result:?}");
    }
}

#[test]
fn run_with_a_killed_worker_stops_and_measures_the_missing_flows_when_resumed() {
    let dir = TestDir::new();
    let manifest = run(ONE, TCP, LONG, &[ROUNDS, DEADLINE, TWO_BY_TWO]);
    let mut running = start_measuring(&dir, &manifest);
    kill_process(running.worker(3).id(), Signal::KILL).unwrap();
    let output = running.wait().expect_code(3);
    output.expect_stdout("the many-to-many pattern needs all workers: rank 3 was lost");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    assert_eq!(stored.status().state, Some(State::Failed));
    let kept = stored.blocks()[0].clone();

    RunningCommand::start(dir.resume(&dir.manifest(&manifest))).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!((kept.len(), &stored.blocks()[0]), (3, &kept));
    for result in &stored.status().results {
        assert_eq!(result.valid_rounds, 2, "{result:?}");
    }
}

/// The harness derives every analysis, and the blocks that each stage needs, from the records.
#[test]
fn settled_run_analyzes_all_flows_together() {
    let dir = TestDir::new();
    let arms = "[{name: baseline}, {name: striped, striping: {policy: Nixl, thresholdBytes: 1Ki}}]";
    let scenarios = "[{name: flows, transfer: {sizes: [64Ki], window: 4, duration: 100ms}}]";
    let sampling = "sampling: {rounds: 10, stop: Settled}";
    let transport = "{libfabric: {provider: tcp, rails: 2}}";
    let manifest = run(arms, transport, scenarios, &[sampling, TWO_BY_TWO]);
    RunningCommand::start(dir.run(&dir.manifest(&manifest))).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let mut comparisons = stored.status().comparisons.iter();
    let one = comparisons.find(|one| one.arm == "striped").unwrap();
    println!("{one:?}");
    assert!(one.effect_ppm.is_some(), "{one:?}");
    for result in &stored.status().results {
        assert!(
            result.value(Quantity::FlowsMedianBytesPerSecond).is_some(),
            "{result:?}"
        );
    }
}
