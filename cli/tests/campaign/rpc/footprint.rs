//! Memory of consumers that share a tensor, or that have one copy each.

use std::process::Command;
use std::time::Duration;

use crds::quantity::Quantity;
use crds::record::{CaseResult, FailureReason, FootprintReport};
use crds::v1alpha1::{ArmResult, CallCause, CallSection, FootprintResult};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::cgroup::Cgroup;
use super::{long_extension, resident_bytes};
use crate::harness::{RunningCommand, TestDir, fabricbench};
use crate::processes::Process;
use crate::stored_run::StoredRun;

/// Returns the manifest of a run with one arm that copies a tensor and one that shares it.
fn manifest(footprint: &str, rounds: u32) -> String {
    format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: memory}}\nspec:\n  baseline: copied\n  \
         variants: [{{name: copied, channel: UnixSocket}}, {{name: shared, channel: SharedMemory}}]\n  \
         transport: {{loopback: {{}}}}\n  scenarios:\n  - {{name: memory, {footprint}}}\n  \
         sampling: {{rounds: {rounds}, control: false}}\n  runPolicy: {{caseDeadlineSeconds: 300}}\n"
    )
}

fn measure(footprint: &str, rounds: u32) -> StoredRun {
    let dir = TestDir::new();
    let output = RunningCommand::start(dir.run(&dir.manifest(&manifest(footprint, rounds)))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    output.expect_stdout("RAM/consumer");
    let stored = StoredRun::read(&dir.run_dir("memory"));
    stored.assert_complete();
    let (junit, metrics) = dir.machine_reports("memory");
    for arm in ["copied", "shared"] {
        assert!(junit.contains(&format!("over {arm}")), "{junit}");
        let section = |line: &&str| {
            line.starts_with("fabricbench_arm_section{") && line.contains(&format!("arm=\"{arm}\""))
        };
        let line = metrics
            .lines()
            .find(section)
            .unwrap_or_else(|| panic!("{metrics}"));
        assert!(line.contains("section=\"Successful\",cause=\"None\""), "{line}");
    }
    assert!(metrics.contains("fabricbench_arm_footprint_bytes{"), "{metrics}");
    // A footprint has no rate and no CPU time.
    for absent in [
        "throughput_bytes_per_second",
        "completions_per_second",
        "cpu_seconds_per_gib",
    ] {
        assert!(
            !metrics.contains(&format!("fabricbench_arm_{absent}{{")),
            "{metrics}"
        );
    }
    for one in &stored.status().results {
        assert_eq!(
            (
                one.value(Quantity::BytesPerSecond),
                one.value(Quantity::CpuPercent)
            ),
            (None, None),
            "{one:?}"
        );
    }
    stored
}

fn result<'a>(stored: &'a StoredRun, arm: &str) -> &'a ArmResult {
    let mut results = stored.status().results.iter();
    results.find(|one| one.arm == arm).unwrap()
}

#[test]
fn copies_and_shared_tensors_use_the_expected_memory() {
    let stored = measure("memoryFootprint: {consumers: 4, sizes: [16Mi], iterations: 4}", 6);
    assert_eq!(stored.failures(), Vec::new());
    let size = 16 << 20;
    let (copied, shared) = (result(&stored, "copied"), result(&stored, "shared"));
    for one in [copied, shared] {
        let expected = FootprintResult {
            section: CallSection::Successful,
            cause: None,
            consumers: 4,
        };
        assert_eq!(one.footprint, Some(expected));
        // Every process has the whole tensor resident.
        assert!(
            one.value(Quantity::FootprintConsumerRssBytes).unwrap() > size,
            "{one:?}"
        );
        assert!(one.value(Quantity::FootprintOwnBytes).unwrap() < size, "{one:?}");
        // The memory of each distribution is freed.
        assert!(
            one.value(Quantity::FootprintSlopeBytes).unwrap().abs() < size / 8,
            "{one:?}"
        );
    }
    assert_eq!(
        (
            copied.value(Quantity::FootprintTensorBytes),
            copied.value(Quantity::FootprintSavedBytes)
        ),
        (Some(5 * size), Some(0))
    );
    assert_eq!(
        (
            copied.value(Quantity::FootprintSavedPpm),
            shared.value(Quantity::FootprintSavedPpm).map(per_mille)
        ),
        (Some(0), Some(800))
    );
    assert!(is_one_copy(shared, size), "{shared:?}");
    assert!(copied.value(Quantity::FootprintConsumerBytes).unwrap() > size);
    // A consumer's Pss includes its share of the tensor, and its Rss includes the whole tensor. The kernel reports KiB, and
    // other memory of a consumer may shrink by a page.
    let of_tensor = shared.value(Quantity::FootprintConsumerBytes).unwrap()
        - shared.value(Quantity::FootprintOwnBytes).unwrap();
    assert!((size / 5 - 16_384..size / 4).contains(&of_tensor), "{shared:?}");
    let mut comparisons = stored.status().comparisons.iter();
    let verdict = comparisons.find(|one| one.primary).unwrap();
    assert_eq!(
        verdict.verdict,
        Some(crds::v1alpha1::Verdict::Improved),
        "{verdict:?}"
    );
}

#[test]
fn hundred_consumers_share_one_tensor() {
    let text = manifest(
        "integrity: false, memoryFootprint: {consumers: 100, sizes: [256Mi], iterations: 2, timeoutSeconds: 300}",
        1,
    );
    let shared = text
        .replace("{name: copied, channel: UnixSocket}, ", "")
        .replace("baseline: copied", "baseline: shared");
    assert_ne!(shared, text);
    let dir = TestDir::new();
    RunningCommand::start(dir.run(&dir.manifest(&shared))).wait();
    let stored = StoredRun::read(&dir.run_dir("memory"));
    stored.assert_complete();
    let found = result(&stored, "shared");
    println!("{found:?}");
    let footprint = found.footprint.unwrap();
    assert_eq!(
        (footprint.section, footprint.consumers),
        (CallSection::Successful, 100)
    );
    assert!(is_one_copy(found, 256 << 20), "{found:?}");
    assert!(
        found.value(Quantity::FootprintConsumerRssBytes).unwrap() >= 256 << 20,
        "{found:?}"
    );
}

#[test]
fn reported_pss_agrees_with_another_reader() {
    let text = manifest(
        "integrity: false, memoryFootprint: {consumers: 3, sizes: [32Mi], iterations: 100}",
        1,
    );
    let shared = text
        .replace("{name: copied, channel: UnixSocket}, ", "")
        .replace("baseline: copied", "baseline: shared");
    let dir = TestDir::new();
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&shared)));
    let seen = running.wait_for(|running| {
        let consumers: Vec<Process> = running
            .processes()
            .into_iter()
            .filter(Process::is_extension)
            .collect();
        let host = Pid::from_raw(consumers.first().filter(|_| consumers.len() == 3)?.parent as i32)?;
        // While the host is stopped, no consumer gets or loses the tensor.
        kill_process(host, Signal::STOP).ok()?;
        let seen = stable_pss(&consumers, 32 << 20);
        kill_process(host, Signal::CONT).ok()?;
        seen
    });
    running.wait();
    let stored = StoredRun::read(&dir.run_dir("memory"));
    let reports: Vec<FootprintReport> = stored.cases().into_iter().filter_map(report).collect();
    let [report] = reports.as_slice() else {
        panic!("expected one measured case: {reports:?}");
    };
    let ratio = seen as f64 / report.consumers_pss_bytes as f64;
    println!(
        "another process read {seen} bytes, and the record has {}",
        report.consumers_pss_bytes
    );
    assert!((0.99..=1.01).contains(&ratio), "{ratio}");
}

/// Returns the total Pss of `consumers`, or `None` unless all of them have a tensor of `size` bytes and their memory no
/// longer changes.
fn stable_pss(consumers: &[Process], size: u64) -> Option<u64> {
    let read = || -> Option<Vec<(u64, u64)>> { consumers.iter().map(|one| pss_and_rss(one.pid)).collect() };
    let before = read()?;
    std::thread::sleep(Duration::from_millis(20));
    let after = read()?;
    let have_tensor = after.iter().all(|(_, rss)| *rss > size);
    (before == after && have_tensor).then(|| after.iter().map(|(pss, _)| pss).sum())
}

/// Whether only one copy of the tensor is in memory. The kernel rounds the share of each process down to 1 KiB.
fn is_one_copy(found: &ArmResult, size: i64) -> bool {
    let copies = found.value(Quantity::FootprintTensorBytes).unwrap() as f64 / size as f64;
    (0.99..=1.01).contains(&copies)
}

/// Converts parts per million to parts per thousand, rounded.
fn per_mille(ppm: i64) -> i64 {
    (ppm + 500) / 1000
}

fn report(case: &crds::record::CaseRecord) -> Option<FootprintReport> {
    match &case.result {
        CaseResult::Measured(measured) => measured.initiator.posted.as_ref()?.footprint,
        _ => None,
    }
}

/// Returns the Pss and Rss of a process according to `smaps_rollup`, in bytes.
fn pss_and_rss(pid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let value = |name: &str| -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(value.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    Some((value("Pss:")?, value("Rss:")?))
}

#[test]
fn copies_that_exceed_the_cgroup_limit_are_rejected() {
    let Some(cgroup) = Cgroup::new("footprint") else {
        return;
    };
    cgroup.set_limit(600 << 20);
    let dir = TestDir::new();
    let manifest = dir.manifest(&manifest(
        "integrity: false, memoryFootprint: {consumers: 8, sizes: [64Mi], iterations: 2}",
        1,
    ));
    let runner = dir.runner(&format!("{}; exec", cgroup.join_command()));
    RunningCommand::start(dir.run_with(&runner, &manifest)).wait();
    let stored = StoredRun::read(&dir.run_dir("memory"));
    stored.assert_complete();
    let (copied, shared) = (result(&stored, "copied"), result(&stored, "shared"));
    let expected = (CallSection::Skipped, Some(CallCause::NotEnoughMemory), None);
    let section = |result: &ArmResult| result.footprint.unwrap().section;
    assert_eq!(
        (
            section(copied),
            copied.footprint.unwrap().cause,
            copied.value(Quantity::FootprintTensorBytes)
        ),
        expected
    );
    assert_eq!(section(shared), CallSection::Successful);
    assert!(is_one_copy(shared, 64 << 20), "{shared:?}");
    let directory = dir.run_dir("memory");
    let mut command = fabricbench(["report", directory.to_str().unwrap(), "--format", "junit"]);
    let report = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let (_, of_copied) = report.split_once("memory: memory 64Mi over copied").unwrap();
    let (of_copied, _) = of_copied.split_once("</testcase>").unwrap();
    assert!(
        of_copied.contains("<skipped") && of_copied.contains("NotEnoughMemory"),
        "{report}"
    );
    assert!(report.contains("memory: memory 64Mi over shared"), "{report}");
}

/// Starts a run with a short and a long case in each of two rounds, and returns a consumer of a long one.
fn start_long_footprint(
    command: impl FnOnce(&TestDir, &str) -> Command,
) -> (TestDir, RunningCommand, Process) {
    let dir = TestDir::new();
    let text = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: memory}\nspec:\n  baseline: copied\n  \
                variants: [{name: copied, channel: UnixSocket}]\n  transport: {loopback: {}}\n  scenarios:\n  \
                - {name: long, integrity: false, memoryFootprint: {consumers: 3, sizes: [32Mi], iterations: 60, \
                timeoutSeconds: 15}}\n  \
                - {name: short, integrity: false, memoryFootprint: {consumers: 2, sizes: [1Mi], iterations: 2}}\n  \
                sampling: {rounds: 2, control: false}\n";
    let command = command(&dir, &dir.manifest(text));
    let mut running = RunningCommand::start(command);
    let consumer = long_extension(&mut running);
    (dir, running, consumer)
}

/// Fails unless exactly one long case failed for one of these reasons, with the section and the cause next to it, and all
/// others were measured.
fn assert_one_lost(dir: &TestDir, reasons: &[(FailureReason, CallSection, Option<CallCause>)]) {
    let stored = StoredRun::read(&dir.run_dir("memory"));
    stored.assert_complete();
    let (case, failure) = stored.only_failure();
    assert_eq!(case.scenario, "long", "{failure:?}");
    let found = reasons.iter().find(|(reason, ..)| *reason == failure.reason);
    let (_, section, cause) = *found.unwrap_or_else(|| panic!("{failure:?}"));
    for one in &stored.status().results {
        let footprint = one.footprint.unwrap();
        let expected = match one.scenario.as_str() {
            "long" => (section, cause, 1),
            _ => (CallSection::Successful, None, 2),
        };
        assert_eq!(
            (footprint.section, footprint.cause, one.valid_rounds),
            expected,
            "{one:?}"
        );
    }
}

/// Expected reason, section and cause of a long case that failed.
fn failed(reason: FailureReason, cause: CallCause) -> (FailureReason, CallSection, Option<CallCause>) {
    (reason, CallSection::Failed, Some(cause))
}

#[test]
fn killed_consumer_is_replaced() {
    let (dir, running, consumer) = start_long_footprint(|dir, manifest| dir.run(manifest));
    kill_process(consumer.id(), Signal::KILL).unwrap();
    running.wait();
    assert_one_lost(&dir, &[failed(FailureReason::PeerLost, CallCause::Died)]);
}

#[test]
fn consumer_that_cannot_allocate_the_tensor_reports_it() {
    let (dir, running, consumer) = start_long_footprint(|dir, manifest| dir.run(manifest));
    let none = Rlimit {
        current: Some(1 << 20),
        maximum: Some(1 << 20),
    };
    prlimit(Some(consumer.id()), Resource::As, none).unwrap();
    running.wait();
    let refused = failed(FailureReason::MemoryUnavailable, CallCause::Error);
    assert_one_lost(&dir, &[refused]);
}

#[test]
fn stopped_consumer_is_killed_at_the_time_limit() {
    let (dir, mut running, consumer) = start_long_footprint(|dir, manifest| dir.run(manifest));
    kill_process(consumer.id(), Signal::STOP).unwrap();
    running.release_machine();
    running.wait();
    let timeout = failed(FailureReason::DeadlineExceeded, CallCause::Timeout);
    assert_one_lost(&dir, &[timeout]);
}

#[test]
fn consumer_that_the_kernel_kills_is_reported_as_out_of_memory() {
    let Some(cgroup) = Cgroup::new("footprint-killed") else {
        return;
    };
    let (dir, mut running, consumer) = start_long_footprint(|dir, manifest| {
        dir.run_with(&dir.runner(&format!("{}; exec", cgroup.join_command())), manifest)
    });
    running.wait_for(|_| (resident_bytes(&consumer) > 32 << 20).then_some(()));
    let mut hog = cgroup.exhaust();
    running.wait_for(|running| {
        let consumers = running.processes().into_iter().filter(Process::is_extension);
        (consumers.count() < 3).then_some(())
    });
    cgroup.set_limit(1 << 40);
    assert!(hog.wait().unwrap().success());
    running.wait();
    let killed = failed(FailureReason::OutOfMemory, CallCause::OutOfMemory);
    // A consumer that is about to allocate memory for the tensor refuses it before the kernel kills a process. The case is
    // then skipped, and the section depends on the other round.
    let refused = (FailureReason::NotEnoughMemory, CallSection::Successful, None);
    assert_one_lost(&dir, &[killed, refused]);
}
