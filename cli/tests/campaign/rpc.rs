//! Calls between isolated processes over every channel, and calls that fail.

mod cgroup;
mod footprint;
pub mod gpu;
mod lost_peer;

use std::time::{Duration, Instant};

use crds::assignment::Pass;
use crds::quantity::Quantity;
use crds::record::{CaseResult, FailureReason, Record, WarningReason};
use crds::v1alpha1::{ArmResult, CallCause, CallSection, FabricProof};
use rustix::process::{Signal, kill_process};

use super::harness::{RunningCommand, TestDir, workspace};
use super::libraries::newer_ucx;
use super::mount_namespace::with_mounts;
use super::processes::Process;
use super::rejected::HIDE_CUDA_DRIVER;
use super::stored_run::StoredRun;
use cgroup::Cgroup;

/// Minimum age of an extension before a test interferes with its calls. Short calls take less time.
const LONG_CASE: Duration = Duration::from_millis(300);

fn example(name: &str) -> String {
    std::fs::read_to_string(workspace().join(format!("examples/{name}.yaml"))).unwrap()
}

fn measure_example(name: &str, rounds: &str) -> StoredRun {
    measure(&example(name), name, rounds)
}

fn measure(text: &str, name: &str, rounds: &str) -> StoredRun {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(text));
    command.args(["--rounds", rounds]);
    let output = RunningCommand::start(command).wait();
    // The test does not depend on verdicts or on the noise of this machine.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(name));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    assert_machine_reports(&dir, name, &stored);
    stored
}

/// Checks that JUnit has a test for each payload and variant, and that OpenMetrics has their times and sections. Calls
/// that move no bytes have no throughput.
fn assert_machine_reports(dir: &TestDir, name: &str, stored: &StoredRun) {
    let (junit, metrics) = dir.machine_reports(name);
    let (mut sections, mut means) = (0, 0);
    for one in &stored.status().results {
        let call = one.call.unwrap();
        let labels = format!(
            "scenario=\"{}\",size_bytes=\"{}\",arm=\"{}\"",
            one.scenario, one.size_bytes, one.arm
        );
        let samples = |metric: &str| {
            let of_arm = metrics.lines().filter(|line| line.contains(&labels));
            of_arm
                .filter(|line| line.starts_with(&format!("{metric}{{")))
                .count()
        };
        sections += samples("fabricbench_arm_section");
        means += samples("fabricbench_arm_call_seconds");
        let has_rate = samples("fabricbench_arm_throughput_bytes_per_second") > 0;
        assert_eq!(has_rate, one.value(Quantity::BytesPerSecond).is_some(), "{one:?}");
        let is_echoed = one.size_bytes <= 110;
        let by_reference = one.arm == "local" || one.arm == "shared-memory" && !is_echoed;
        assert!(!(by_reference && has_rate), "{one:?}");
        assert!(
            call.section != CallSection::Successful || by_reference || has_rate,
            "{one:?}"
        );
        assert!(one.value(Quantity::CompletionsPerSecond).is_some(), "{one:?}");
        if !one.arm.starts_with("control") {
            let test = format!(
                "\"calls: {} {} over {}\"",
                one.scenario,
                call.payload.name(),
                one.arm
            );
            assert!(junit.contains(&test), "{test}: {junit}");
        }
    }
    let results = &stored.status().results;
    let of_call = [
        Quantity::CallMeanNanos,
        Quantity::CallDeviationNanos,
        Quantity::CallClockNanos,
        Quantity::CallHopNanos,
    ];
    let times = results
        .iter()
        .flat_map(|one| of_call.map(|quantity| one.value(quantity)));
    assert_eq!((sections, means), (results.len(), times.flatten().count()));
}

fn result(stored: &StoredRun, scenario: &str, size_bytes: u64, arm: &str) -> ArmResult {
    let mut results = stored.status().results.iter();
    let found = results
        .find(|one| (one.scenario.as_str(), one.size_bytes, one.arm.as_str()) == (scenario, size_bytes, arm));
    found.cloned().unwrap_or_else(|| {
        panic!(
            "no result of {scenario} {size_bytes} {arm}: {:#?}",
            stored.status().results
        )
    })
}

fn assert_successful(result: &ArmResult) {
    let call = result.call.unwrap();
    assert_eq!(
        (call.section, call.cause),
        (CallSection::Successful, None),
        "{result:?}"
    );
    let mean = result.value(Quantity::CallMeanNanos).unwrap();
    let (min, max) = (
        result.value(Quantity::LatencyMinNanos).unwrap(),
        result.value(Quantity::LatencyMaxNanos).unwrap(),
    );
    assert!((min..=max).contains(&mean), "{result:?}");
    assert!(result.value(Quantity::CallDeviationNanos).is_some(), "{result:?}");
    // A local call typically takes less time than reading the clock does. Other channels need at least a system call.
    match result.value(Quantity::CallClockNanos) {
        Some(clock) => {
            let typical = mean.min(result.value(Quantity::LatencyP50Nanos).unwrap());
            assert!(result.arm == "local" && typical <= 2 * clock, "{result:?}");
        }
        None => {
            let hop = result.value(Quantity::CallHopNanos).unwrap();
            assert!(hop.abs_diff(mean / i64::from(call.hops)) <= 1, "{result:?}");
        }
    }
}

#[test]
fn every_local_channel_is_measured_and_shared_memory_is_not_copied() {
    let stored = measure_example("rpc", "2");
    let results = &stored.status().results;
    // Each of the 11 payloads has a result for each of the 4 channels and for the control arm.
    assert_eq!(results.len(), 11 * 5);
    for one in results {
        assert_successful(one);
        assert_eq!(one.fabric, None, "{one:?}");
    }
    let p50 = |arm| {
        result(&stored, "large-data", 50_000_000, arm)
            .value(Quantity::LatencyP50Nanos)
            .unwrap()
    };
    assert!(
        p50("shared-memory") * 5 < p50("unix-socket"),
        "shared memory was copied"
    );
    assert!(p50("local") < p50("shared-memory"));
    let hops = |scenario| result(&stored, scenario, 8, "unix-socket").call.unwrap().hops;
    assert_eq!(
        (
            hops("small-data"),
            hops("singleton"),
            hops("chain"),
            hops("recursive")
        ),
        (1, 2, 3, 4)
    );
    // A chain has more hops than a call, so it takes longer.
    let mean = |scenario| {
        result(&stored, scenario, 8, "unix-socket")
            .value(Quantity::CallMeanNanos)
            .unwrap()
    };
    assert!(mean("chain") > mean("small-data"));
    let shared = stored.records().filter(|record| match record {
        Record::Warning(warning) => {
            warning.reason == WarningReason::Evidence && warning.message.contains("map the same pages")
        }
        _ => false,
    });
    // Of the payloads, `LargeArray`, `LargeBytes` and four tensors are shared.
    assert_eq!(shared.count(), 6);
    // Nothing was sent over the interfaces during local calls, so there is no fabric proof.
    assert_eq!(stored.status().fabric, None);
}

/// Checks the calls over all transports. `library` is a UCX version prefix.
fn assert_calls_over_transports(stored: &StoredRun, library: &str) {
    for one in &stored.status().results {
        assert_successful(one);
        let off_fabric =
            ["unix-socket", "tcp", "local"].contains(&&*one.arm) || one.arm.starts_with("control");
        let expected = (!off_fabric).then_some(FabricProof::Verified);
        assert_eq!(one.fabric, expected, "{one:?}");
    }
    // Every byte arrived with each kind of message.
    for arm in ["libfabric", "ucx", "ucx-active-messages"] {
        let checked = stored.cases().into_iter().filter(|case| {
            let CaseResult::Checked(checked) = &case.result else {
                return false;
            };
            case.arm == arm && checked.bytes > 0 && checked.first_mismatch.is_none()
        });
        // There are four payloads, and one of them is also used in a chain.
        assert_eq!(checked.count(), 5, "{arm}");
    }
    let of_ucx = stored
        .endpoints()
        .into_iter()
        .filter(|endpoints| endpoints.arm.starts_with("ucx"));
    let versions: Vec<String> = of_ucx
        .map(|endpoints| {
            let fabric = endpoints.fabric.as_ref().unwrap();
            fabric.library.as_ref().unwrap().version.clone()
        })
        .collect();
    assert!(!versions.is_empty());
    assert!(
        versions.iter().all(|version| version.starts_with(library)),
        "{versions:?}"
    );
}

#[test]
fn calls_over_transports_use_the_fabric_with_the_newer_ucx() {
    let mut manifest: serde_yaml::Value = serde_yaml::from_str(&example("rpc-transports")).unwrap();
    for variant in manifest["spec"]["variants"].as_sequence_mut().unwrap() {
        if variant["name"].as_str().unwrap().starts_with("ucx") {
            variant["library"] = newer_ucx().into();
        }
    }
    let stored = measure(&serde_yaml::to_string(&manifest).unwrap(), "rpc-transports", "2");
    assert_calls_over_transports(&stored, "1.22");
}

#[test]
fn calls_over_transports_use_the_fabric() {
    let stored = measure_example("rpc-transports", "2");
    assert_calls_over_transports(&stored, "1.13");
    // A chain posts two requests from the initiator, because the second of its three calls is made by the target.
    let posts = stored.cases().into_iter().filter_map(|case| match &case.result {
        CaseResult::Measured(measured) if case.scenario == "chain" && case.arm == "libfabric" => {
            let posted = measured.initiator.posted.as_ref()?;
            Some(posted.counters.posts / posted.operations)
        }
        _ => None,
    });
    // The reply to the nested call echoes the payload, so it is the initiator's third post.
    assert_eq!(posts.collect::<Vec<_>>(), [3, 3]);
}

/// Creates a run with long calls for `payloads`, and with short calls. `long` contains additional fields for the long
/// calls.
fn faulty_run(payloads: &str, long: &str) -> String {
    format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: faulty}}\nspec:\n  baseline: unix\n  \
         variants: [{{name: unix, channel: UnixSocket}}]\n  transport: {{loopback: {{}}}}\n  scenarios:\n  \
         - {{name: long, integrity: false, rpc: {{payloads: {payloads}, {long}}}}}\n  \
         - {{name: short, integrity: false, rpc: {{iterations: 10}}}}\n  sampling: {{rounds: 2, control: false}}\n"
    )
}

/// Waits for an extension of a long case.
fn long_extension(running: &mut RunningCommand) -> Process {
    let mut seen: Option<(u32, Instant)> = None;
    running.wait_for(|running| {
        let extension = running.processes().into_iter().find(Process::is_extension)?;
        match seen {
            Some((pid, since)) if pid == extension.pid => (since.elapsed() > LONG_CASE).then_some(extension),
            _ => {
                seen = Some((extension.pid, Instant::now()));
                None
            }
        }
    })
}

/// Fails unless exactly one case failed with `reason`, all others were measured, and the status has the cause.
fn assert_one_failure(stored: &StoredRun, reason: FailureReason, message: &str, cause: CallCause) {
    stored.assert_complete();
    let (case, failure) = stored.only_failure();
    assert_eq!(
        (case.scenario.as_str(), failure.reason),
        ("long", reason),
        "{failure:?}"
    );
    assert!(failure.message.contains(message), "{failure:?}");
    for one in &stored.status().results {
        let call = one.call.unwrap();
        if (one.scenario.as_str(), one.size_bytes) == ("long", case.size_bytes) {
            assert_eq!(
                (call.section, call.cause),
                (CallSection::Failed, Some(cause)),
                "{one:?}"
            );
            assert_eq!(one.valid_rounds, 1, "{one:?}");
        } else {
            assert_successful(one);
            assert_eq!(one.valid_rounds, 2, "{one:?}");
        }
    }
}

#[test]
fn killed_extension_is_replaced() {
    let dir = TestDir::new();
    let manifest = faulty_run("[SmallInt, SmallString]", "iterations: 100000");
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&manifest)));
    kill_process(long_extension(&mut running).id(), Signal::KILL).unwrap();
    let output = running.wait();
    output.expect_stdout("Died: failed (PeerLost)");
    output.expect_stdout("1 successful, 1 failed, 0 skipped (total 2)");
    let stored = StoredRun::read(&dir.run_dir("faulty"));
    assert_one_failure(
        &stored,
        FailureReason::PeerLost,
        "was killed by signal 9",
        CallCause::Died,
    );
}

/// A call that takes much longer than any other delays only itself in a closed loop, but all calls that should have
/// started meanwhile in an open loop.
#[test]
fn an_open_loop_shows_a_stall_that_a_closed_loop_hides() {
    const STALL: Duration = Duration::from_millis(200);
    // Both cases last for about a second without the stall.
    let open = stalled_p99(
        "iterations: 1000, load: {openLoop: {rate: 1000, arrivals: Constant}}",
        STALL,
    );
    assert!(open > STALL / 2, "{open:?}");
    let closed = stalled_p99("iterations: 100000", STALL);
    assert!(closed < STALL / 4, "{closed:?}");
}

/// Stops the extension of a long case for the duration `stall`, and returns the largest 99th percentile of its calls.
fn stalled_p99(long: &str, stall: Duration) -> Duration {
    let dir = TestDir::new();
    let manifest = faulty_run("[SmallInt]", long);
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&manifest)));
    let extension = long_extension(&mut running).id();
    kill_process(extension, Signal::STOP).unwrap();
    let stopped = Instant::now();
    running.wait_for(|_| (stopped.elapsed() >= stall).then_some(()));
    kill_process(extension, Signal::CONT).unwrap();
    running.wait();
    let stored = StoredRun::read(&dir.run_dir("faulty"));
    stored.assert_complete();
    let quantiles = stored.cases().into_iter().filter_map(|case| match &case.result {
        CaseResult::Measured(measured) if case.scenario == "long" => {
            measured.initiator.posted.as_ref()?.latency.quantile(0.99)
        }
        _ => None,
    });
    Duration::from_nanos(quantiles.max().unwrap())
}

/// A test that takes too long costs only itself, even if its limit is above the case deadline: all other sizes are measured.
#[test]
fn large_calls_that_exceed_their_limit_do_not_discard_the_others() {
    let dir = TestDir::new();
    let manifest = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: slow}\nspec:\n  baseline: unix\n  \
                    variants: [{name: unix, channel: UnixSocket}]\n  transport: {loopback: {}}\n  scenarios:\n  \
                    - {name: calls, rpc: {payloads: [SmallInt, TinyTensor, ImageTensor], iterations: 1000, \
                    timeoutSeconds: 6}}\n  \
                    sampling: {rounds: 2, control: false}\n  runPolicy: {caseDeadlineSeconds: 2}\n";
    let output = RunningCommand::start(dir.run(&dir.manifest(manifest))).wait();
    output.expect_stdout("2 successful, 1 failed, 0 skipped (total 3)");
    output.expect_stdout("Timeout: failed (DeadlineExceeded)");
    let stored = StoredRun::read(&dir.run_dir("slow"));
    stored.assert_complete();
    let image = 805_306_368;
    for size in [8, 400] {
        assert_successful(&result(&stored, "calls", size, "unix"));
    }
    let result_of_large = result(&stored, "calls", image, "unix");
    let large = result_of_large.call.unwrap();
    let expected = (CallSection::Failed, Some(CallCause::Timeout), None);
    assert_eq!(
        (
            large.section,
            large.cause,
            result_of_large.value(Quantity::CallMeanNanos)
        ),
        expected
    );
    // A slow machine may also exceed the limit of the integrity pass.
    let mut failures = stored.failures();
    failures.retain(|(case, _)| case.pass == Pass::Measure);
    assert_eq!(failures.len(), 2, "{failures:?}");
    for (case, failure) in failures {
        assert_eq!(
            (case.size_bytes, failure.reason),
            (image, FailureReason::DeadlineExceeded)
        );
        assert!(failure.message.contains("6 s (timeoutSeconds)"), "{failure:?}");
    }
}

#[test]
fn stopped_extension_is_killed_at_the_time_limit() {
    let dir = TestDir::new();
    let manifest = faulty_run(
        "[SmallInt, SmallString]",
        "iterations: 100000, timeoutSeconds: 15",
    );
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&manifest)));
    kill_process(long_extension(&mut running).id(), Signal::STOP).unwrap();
    running.release_machine();
    running.wait().expect_stdout("Timeout: failed (DeadlineExceeded)");
    let stored = StoredRun::read(&dir.run_dir("faulty"));
    let message = "time limit of 15 s";
    assert_one_failure(
        &stored,
        FailureReason::DeadlineExceeded,
        message,
        CallCause::Timeout,
    );
}

/// Whether the process has exited. Its parent may not have read its exit status yet.
fn has_exited(process: &Process) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

#[test]
fn extension_that_the_kernel_kills_is_reported_as_out_of_memory() {
    let Some(cgroup) = Cgroup::new("rpc-killed") else {
        return;
    };
    let dir = TestDir::new();
    let manifest = dir.manifest(&faulty_run("[LargeBytes]", "iterations: 300, timeoutSeconds: 60"));
    let runner = dir.runner(&format!("{}; exec", cgroup.join_command()));
    let mut running = RunningCommand::start(dir.run_with(&runner, &manifest));
    let extension = long_extension(&mut running);
    running.wait_for(|_| (resident_bytes(&extension) > 50_000_000).then_some(()));
    let mut hog = cgroup.exhaust();
    running.wait_for(|_| has_exited(&extension).then_some(()));
    // While the other process exists, the limit leaves too little memory for the next round's case.
    cgroup.set_limit(1 << 40);
    assert!(hog.wait().unwrap().success());
    running.wait().expect_stdout("OutOfMemory: failed (OutOfMemory)");
    let stored = StoredRun::read(&dir.run_dir("faulty"));
    let message = "its cgroup ran out of memory";
    assert_one_failure(
        &stored,
        FailureReason::OutOfMemory,
        message,
        CallCause::OutOfMemory,
    );
}

/// Returns the resident set size of a process, or 0 if it has exited.
fn resident_bytes(process: &Process) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/statm", process.pid)).unwrap_or_default();
    let pages: u64 = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

#[test]
fn calls_that_do_not_fit_in_memory_are_skipped() {
    let Some(cgroup) = Cgroup::new("rpc-skipped") else {
        return;
    };
    cgroup.set_limit(700 << 20);
    let dir = TestDir::new();
    let manifest = dir.manifest(&faulty_run("[SmallInt, ImageTensor]", "iterations: 2"));
    let runner = dir.runner(&format!("{}; exec", cgroup.join_command()));
    let output = RunningCommand::start(dir.run_with(&runner, &manifest)).wait();
    output.expect_stdout("1 successful, 0 failed, 1 skipped (total 2)");
    let stored = StoredRun::read(&dir.run_dir("faulty"));
    stored.assert_complete();
    let result_of_large = result(&stored, "long", 805_306_368, "unix");
    let large = result_of_large.call.unwrap();
    let expected = (CallSection::Skipped, Some(CallCause::NotEnoughMemory), None);
    assert_eq!(
        (
            large.section,
            large.cause,
            result_of_large.value(Quantity::CallMeanNanos)
        ),
        expected
    );
    assert_successful(&result(&stored, "long", 8, "unix"));
    assert_successful(&result(&stored, "short", 110, "unix"));
    for (case, failure) in stored.failures() {
        assert_eq!(case.size_bytes, 805_306_368);
        assert!(failure.message.contains("2 copies of the payload"), "{failure:?}");
    }
}

#[test]
fn calls_with_gpu_memory_are_skipped_without_a_gpu() {
    let dir = TestDir::new();
    let manifest = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: gpu}\nspec:\n  baseline: a\n  \
                    variants: [{name: a}]\n  transport: {loopback: {}}\n  resources: {gpus: 1}\n  scenarios:\n  \
                    - {name: host, rpc: {quick: true}}\n  \
                    - {name: device, memory: Cuda, rpc: {payloads: [TinyTensor], quick: true}}\n  sampling: {rounds: 1}\n";
    let command = with_mounts(HIDE_CUDA_DRIVER, &dir.run(&dir.manifest(manifest)));
    let output = RunningCommand::start(command).wait().expect_code(3);
    output.expect_stdout("NoGpu: ");
    output.expect_stdout("1 test skipped because no GPU can be used. Therefore, the exit status is 3.");
    let stored = StoredRun::read(&dir.run_dir("gpu"));
    let device = result(&stored, "device", 400, "a").call.unwrap();
    assert_eq!(
        (device.section, device.cause),
        (CallSection::Skipped, Some(CallCause::NoGpu))
    );
    assert_successful(&result(&stored, "host", 8, "a"));
}
