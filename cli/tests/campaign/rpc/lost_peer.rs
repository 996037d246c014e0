//! Calls over a transport whose peer is killed or hangs, or whose payload does not fit in memory: the case fails, and the
//! campaign continues, with new processes if necessary.

use crds::record::FailureReason;
use crds::v1alpha1::{CallCause, CallSection};
use rustix::process::{Signal, kill_process};

use super::cgroup::Cgroup;
use super::{StoredRun, assert_successful, result};
use crate::harness::{RunningCommand, TestDir};
use crate::processes::Process;
use crate::stored_run::{blocks, streams};

const LIBFABRIC: &str = "libfabric: {provider: tcp}";
const UCX: &str = "ucx: {transports: [tcp]}";

/// A run with two rounds of three blocks that last long enough for a test to intervene.
fn long_calls(transport: &str, timeout: u32) -> String {
    format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: faulty}}\nspec:\n  baseline: a\n  \
         variants: [{{name: a}}]\n  transport: {{{transport}}}\n  scenarios:\n  \
         - {{name: calls, integrity: false, rpc: {{payloads: [SmallInt, SmallString, TinyTensor], iterations: 20000, \
         timeoutSeconds: {timeout}}}}}\n  sampling: {{rounds: 2, control: false}}\n"
    )
}

/// Starts a campaign, and returns it with the target's instrument after the first block.
fn start_calls(dir: &TestDir, transport: &str, timeout: u32) -> (RunningCommand, Process) {
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&long_calls(transport, timeout))));
    let records = dir.run_dir("faulty").join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        // At least one of the six blocks must follow, to show the replacement.
        (1..=4).contains(&done?).then_some(())
    });
    let instrument = running.instrument(1);
    (running, instrument)
}

/// Fails unless exactly one case failed with `reason` and `cause`, and every later one was measured.
fn assert_one_lost(dir: &TestDir, reason: FailureReason, cause: CallCause) {
    let stored = StoredRun::read(&dir.run_dir("faulty"));
    stored.assert_complete();
    let (case, failure) = stored.only_failure();
    assert_eq!(failure.reason, reason, "{failure:?}");
    for one in &stored.status().results {
        let call = one.call.unwrap();
        if one.size_bytes == case.size_bytes {
            assert_eq!(
                (call.section, call.cause, one.valid_rounds),
                (CallSection::Failed, Some(cause), 1),
                "{one:?}"
            );
        } else {
            assert_successful(one);
            assert_eq!(one.valid_rounds, 2, "{one:?}");
        }
    }
}

fn check_killed(transport: &str) {
    let dir = TestDir::new();
    let (running, instrument) = start_calls(&dir, transport, 30);
    kill_process(instrument.id(), Signal::KILL).unwrap();
    running.wait().expect_stdout("1 failed");
    assert_one_lost(&dir, FailureReason::PeerLost, CallCause::Died);
}

#[test]
fn killed_peer_is_replaced_over_libfabric() {
    check_killed(LIBFABRIC);
}

#[test]
fn killed_peer_is_replaced_over_ucx() {
    check_killed(UCX);
}

fn check_stopped(transport: &str) {
    let dir = TestDir::new();
    let (mut running, instrument) = start_calls(&dir, transport, 10);
    kill_process(instrument.id(), Signal::STOP).unwrap();
    running.release_machine();
    running.wait().expect_stdout("1 failed");
    assert_one_lost(&dir, FailureReason::DeadlineExceeded, CallCause::Timeout);
}

#[test]
fn stopped_peer_is_killed_at_the_time_limit_over_libfabric() {
    check_stopped(LIBFABRIC);
}

#[test]
fn stopped_peer_is_killed_at_the_time_limit_over_ucx() {
    check_stopped(UCX);
}

#[test]
fn payload_that_does_not_fit_is_skipped_and_others_are_measured() {
    let Some(cgroup) = Cgroup::new("rpc-transport-skipped") else {
        return;
    };
    cgroup.set_limit(1 << 30);
    let dir = TestDir::new();
    let manifest = dir.manifest(&format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: large}}\nspec:\n  baseline: a\n  \
         variants: [{{name: a}}]\n  transport: {{{LIBFABRIC}}}\n  scenarios:\n  \
         - {{name: large, rpc: {{payloads: [ImageTensor], iterations: 2, warmup: 0}}}}\n  \
         - {{name: small, rpc: {{iterations: 100}}}}\n  sampling: {{rounds: 1, control: false}}\n"
    ));
    let runner = dir.runner(&format!("{}; exec", cgroup.join_command()));
    let output = RunningCommand::start(dir.run_with(&runner, &manifest)).wait();
    output.expect_stdout("1 skipped");
    let stored = StoredRun::read(&dir.run_dir("large"));
    stored.assert_complete();
    let large = result(&stored, "large", 805_306_368, "a").call.unwrap();
    assert_eq!(
        (large.section, large.cause),
        (CallSection::Skipped, Some(CallCause::NotEnoughMemory))
    );
    assert_successful(&result(&stored, "small", 8, "a"));
    assert_successful(&result(&stored, "small", 110, "a"));
    for (case, failure) in stored.failures() {
        assert_eq!(case.size_bytes, 805_306_368);
        assert!(failure.message.contains("the cgroup has only"), "{failure:?}");
    }
}
