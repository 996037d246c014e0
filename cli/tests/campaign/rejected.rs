//! Runs that request unavailable resources are rejected or fail with a reason. No other resource is used instead.

use std::fs;
use std::path::Path;

use crds::quantity::Quantity;
use crds::record::{CaseResult, FailureReason};
use crds::v1alpha1::{Engagement, State};

use super::harness::{CommandOutput, RunningCommand, TestDir};
use super::libraries::newer_library;
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, SHORT, TCP, run};
use super::mount_namespace::{new_namespaces, with_mounts};
use super::stored_run::StoredRun;

const ROUNDS: &str = "sampling: {rounds: 2}";
const FIXED_COUNTS: &str = "sampling: {rounds: 2, minWindow: 0s}";

/// Shell command that makes the CUDA driver files unusable in the current mount namespace.
pub const HIDE_CUDA_DRIVER: &str = r#"unset LD_LIBRARY_PATH
for file in $(/sbin/ldconfig -p | sed -n "s,.*libcuda\.so.* => ,,p"); do mount --bind /dev/null "$file" || exit; done"#;

fn run_manifest(manifest: &str) -> (TestDir, CommandOutput) {
    let dir = TestDir::new();
    let output = RunningCommand::start(dir.run(&dir.manifest(manifest))).wait();
    (dir, output)
}

/// Checks that the campaign in `manifest` exits with status 3 and that every case failed with `reason` and a message
/// that contains `text`.
#[track_caller]
fn check_all_cases_fail(manifest: &str, reason: FailureReason, text: &str) {
    let (dir, output) = run_manifest(manifest);
    assert_all_cases_failed(&dir, output, reason, text);
}

#[track_caller]
fn assert_all_cases_failed(dir: &TestDir, output: CommandOutput, reason: FailureReason, text: &str) {
    let output = output.expect_code(3);
    output.expect_stdout(&format!("failed ({reason:?})"));
    output.expect_stdout(&format!("verdict nothing was measured: {reason:?}"));
    output.expect_stdout(text);
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_all_failed(reason);
    assert_eq!(stored.status().state, Some(State::Failed));
    let failed = stored.condition("Failed");
    assert_eq!(
        (failed.status.as_str(), failed.reason.as_str()),
        ("True", "NothingMeasured")
    );
    assert!(failed.message.contains(text), "{}", failed.message);
    assert_eq!(stored.condition("Complete").status, "False");
}

/// Whether this machine has an RDMA device that uses the `efa` kernel driver.
fn has_efa() -> bool {
    let devices = fs::read_dir("/sys/class/infiniband")
        .into_iter()
        .flatten()
        .flatten();
    let mut drivers = devices.filter_map(|device| fs::canonicalize(device.path().join("device/driver")).ok());
    drivers.any(|driver| driver.ends_with("efa"))
}

/// Number of 2 MiB huge pages that are free or that the kernel may allocate on demand.
fn huge_pages() -> u64 {
    let pool = Path::new("/sys/kernel/mm/hugepages/hugepages-2048kB");
    let count = |name: &str| {
        let text = fs::read_to_string(pool.join(name));
        text.map_or(0, |pages| pages.trim().parse::<u64>().unwrap())
    };
    count("free_hugepages") + count("nr_overcommit_hugepages")
}

#[test]
fn a_full_shared_memory_directory_is_found_before_the_first_block() {
    let dir = TestDir::new();
    let manifest = run(INJECT_64, SHM, SHORT, &[ROUNDS]);
    let mount = "mount -t tmpfs -o size=64k none /dev/shm";
    let command = with_mounts(mount, &dir.run(&dir.manifest(&manifest)));
    let output = RunningCommand::start(command).wait().expect_code(3);
    let text = "/dev/shm has 64Ki free, but libfabric's shm provider needs about ";
    output.expect_stderr(text);
    let stored = StoredRun::read(&dir.run_dir(NAME));
    assert_eq!(stored.cases().len(), 0);
    assert_eq!(stored.status().state, Some(State::Failed));
    assert!(stored.condition("Failed").message.contains(text));
}

#[test]
fn provider_without_a_device_fails() {
    if has_efa() {
        println!("skipped provider_without_a_device_fails: this machine has an EFA device");
        return;
    }
    let efa = "{libfabric: {provider: efa, rails: 1}}";
    let manifest = run(INJECT_64, efa, SHORT, &[ROUNDS, "resources: {efas: 1}"]);
    check_all_cases_fail(&manifest, FailureReason::NoDevice, "efa");
}

#[test]
fn nic_in_an_unknown_position_does_not_meet_a_required_alignment() {
    let tcp = "{libfabric: {provider: tcp, rails: 1}}";
    let align = "placement: {align: NumaNode}";
    let manifest = run(INJECT_64, tcp, SHORT, &[ROUNDS, "devices: {nics: [lo]}", align]);
    check_all_cases_fail(
        &manifest,
        FailureReason::NotAligned,
        "rail 0 (lo) does not use a PCI device",
    );
}

#[test]
fn numa_node_without_cpus_fails() {
    let manifest = run(INJECT_64, LOOPBACK, SHORT, &[ROUNDS, "devices: {numaNode: 1000}"]);
    check_all_cases_fail(&manifest, FailureReason::NoDevice, "NUMA node 1000");
}

#[test]
fn transport_without_compiled_support_fails() {
    let manifest = run(INJECT_64, "{verbs: {rails: 1}}", SHORT, &[ROUNDS]);
    check_all_cases_fail(
        &manifest,
        FailureReason::TransportNotCompiled,
        "transport verbs is not compiled",
    );
}

#[test]
fn too_many_huge_pages_fail() {
    // The scenario keeps 64 transfers of 64 MiB in flight.
    let pages = huge_pages();
    if pages >= 2048 {
        println!(
            "skipped too_many_huge_pages_fail: at least 4 GiB of huge pages are available ({pages} pages of 2 MiB)"
        );
        return;
    }
    let scenarios =
        "[{name: large, memory: HugePages, transfer: {sizes: [64Mi], window: 64, batch: 4, iterations: 1}}]";
    let manifest = run(
        "[{name: baseline}, {name: doorbell, doorbell: {maxBatch: 4}}]",
        LOOPBACK,
        scenarios,
        &[ROUNDS, "resources: {hugepages2Mi: 64Gi, cpus: 2, memory: 1Gi}"],
    );
    check_all_cases_fail(&manifest, FailureReason::MemoryUnavailable, "vm.nr_hugepages");
}

#[test]
fn gpu_memory_without_a_driver_fails() {
    let dir = TestDir::new();
    let variants = "[{name: baseline}, {name: doorbell, doorbell: {maxBatch: 4}}]";
    let scenarios = "[{name: large, memory: Cuda, transfer: {operation: Write, sizes: [1Ki], window: 8, batch: 4, iterations: 200}}]";
    let manifest = dir.manifest(&run(
        variants,
        LOOPBACK,
        scenarios,
        &[ROUNDS, "resources: {gpus: 1}"],
    ));
    let output = RunningCommand::start(with_mounts(HIDE_CUDA_DRIVER, &dir.run(&manifest))).wait();
    assert_all_cases_failed(&dir, output, FailureReason::MemoryUnavailable, "no CUDA driver");
}

#[test]
fn workers_with_separate_dev_shm_fail() {
    let dir = TestDir::new();
    let separate = new_namespaces("mount -t tmpfs none /dev/shm");
    let variants = format!(
        "[{{name: baseline}}, {{name: newer, library: {}}}]",
        newer_library()
    );
    let manifest = dir.manifest(&run(&variants, SHM, SHORT, &[ROUNDS]));
    let output = RunningCommand::start(dir.run_with(&dir.runner(&separate), &manifest)).wait();
    assert_all_cases_failed(
        &dir,
        output,
        FailureReason::FabricUnreachable,
        "is not in this worker's /dev/shm",
    );
}

#[test]
fn missing_library_fails_only_its_arm() {
    let variants = "[{name: baseline}, {name: other, library: /nowhere/lib}]";
    let (dir, output) = run_manifest(&run(variants, TCP, SHORT, &[ROUNDS]));
    let output = output.expect_code(3);
    output.expect_stdout("failed (LibraryNotFound)");
    output.expect_stdout("/nowhere/lib");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(
        stored.reasons("other").into_iter().collect::<Vec<_>>(),
        ["LibraryNotFound"]
    );
    assert_eq!(
        stored
            .failures()
            .iter()
            .filter(|(case, _)| case.arm != "other")
            .count(),
        0
    );
    let mut results = stored.status().results.iter();
    assert!(
        results.any(|result| result.arm == "baseline" && result.value(Quantity::LatencyP50Nanos).is_some())
    );
}

#[test]
fn inject_above_the_provider_limit_gives_no_verdict() {
    let variants = "[{name: baseline}, {name: fi-inject, inject: {maxBytes: 256}}]";
    let (dir, output) = run_manifest(&run(variants, TCP, SHORT, &[FIXED_COUNTS]));
    output
        .expect_code(0)
        .expect_stdout("NotEngaged: over the inject limit of 128 B");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let mut posts_above_limit = 0;
    for case in stored.cases().into_iter().filter(|case| case.arm == "fi-inject") {
        let CaseResult::Measured(measured) = &case.result else {
            continue;
        };
        let counters = &measured.initiator.posted.as_ref().unwrap().counters;
        let (injected, over_limit) = (counters.injected, counters.over_limit);
        match case.size_bytes {
            64 => assert_eq!((injected, over_limit), (counters.posts, 0)),
            _ => assert_eq!((injected, over_limit), (0, counters.posts)),
        }
        assert_eq!(counters.inject_limit_bytes, Some(128));
        posts_above_limit += over_limit;
    }
    assert_eq!(posts_above_limit, 2 * 200, "posts of two rounds");
    let status = stored.status();
    let is_above_limit = |size: u64, arm: &str| size == 256 && arm == "fi-inject";
    let result = status
        .results
        .iter()
        .find(|one| is_above_limit(one.size_bytes, &one.arm))
        .unwrap();
    assert_eq!(result.optimizations[0].engagement, Engagement::NotEngaged);
    let mut comparisons = status.comparisons.iter();
    let comparison = comparisons
        .find(|one| is_above_limit(one.size_bytes, &one.arm))
        .unwrap();
    assert_eq!(comparison.verdict, None);
    assert!(
        comparison.reason.as_ref().unwrap().starts_with("NotEngaged"),
        "{comparison:?}"
    );
}

#[test]
fn rejects_an_invalid_manifest_before_starting() {
    let on_gpu = "[{name: small, memory: Cuda, pingPong: {sizes: [64], iterations: 200}}]";
    let efa = "{libfabric: {provider: efa, rails: 4}}";
    for (manifest, message) in [
        (
            run(INJECT_64, LOOPBACK, on_gpu, &["resources: {gpus: 1}"]),
            "spec.scenarios[0].memory: messages in GPU memory (`Cuda`) cannot be injected",
        ),
        (
            run(INJECT_64, efa, SHORT, &["resources: {efas: 2}"]),
            "spec.transport.libfabric.rails: every rail needs an EFA device: a worker has 4 rails, but \
             `spec.resources.efas` is 2",
        ),
    ] {
        let (dir, output) = run_manifest(&manifest);
        let output = output.expect_code(2);
        output.expect_stderr(message);
        assert_eq!(output.stdout, "");
        assert!(!dir.output_dir().exists());
    }
}
