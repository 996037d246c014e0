//! What cannot be had is refused or fails with its reason, and nothing else is measured in its place.

use std::fs;

use crds::record::{CaseResult, FailureReason};
use crds::v1alpha1::{Engagement, State};

use super::libraries::newer_library;
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, SHORT, TCP, run};
use super::namespace::own_mounts;
use super::program::{Desk, Ended, Running};
use super::stored::Stored;

const ROUNDS: &str = "sampling: {rounds: 2}";

fn carry_out(manifest: &str) -> (Desk, Ended) {
    let desk = Desk::new();
    let ended = Running::start(desk.run(&desk.manifest(manifest))).end();
    (desk, ended)
}

/// The campaign of `manifest` exits with 3, and each case failed for `reason`, whose words are shown.
#[track_caller]
fn nothing_can_be_measured(manifest: &str, reason: FailureReason, words: &str) {
    let (desk, ended) = carry_out(manifest);
    nothing_was_measured(&desk, ended, reason, words);
}

#[track_caller]
fn nothing_was_measured(desk: &Desk, ended: Ended, reason: FailureReason, words: &str) {
    let ended = ended.exits(3);
    ended.shows(&format!("failed ({reason:?})"));
    ended.shows(&format!("verdict nothing was measured: {reason:?}"));
    ended.shows(words);
    let stored = Stored::read(&desk.run_folder(NAME));
    stored.all_failed(reason);
    assert_eq!(stored.status().state, Some(State::Failed));
    let failed = stored.condition("Failed");
    assert_eq!(
        (failed.status.as_str(), failed.reason.as_str()),
        ("True", "NothingMeasured")
    );
    assert!(failed.message.contains(words), "{}", failed.message);
    assert_eq!(stored.condition("Complete").status, "False");
}

#[test]
fn a_provider_without_a_device() {
    let efa = "{libfabric: {provider: efa, rails: 1}}";
    let manifest = run(INJECT_64, efa, SHORT, &[ROUNDS, "resources: {efas: 1}"]);
    nothing_can_be_measured(&manifest, FailureReason::NoDevice, "efa");
}

#[test]
fn a_transport_that_is_not_compiled_in() {
    let manifest = run(INJECT_64, "{verbs: {rails: 1}}", SHORT, &[ROUNDS]);
    nothing_can_be_measured(&manifest, FailureReason::NotCompiled, "no transport verbs");
}

#[test]
fn more_huge_pages_than_there_are() {
    let free = fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    let free: u64 = free.map_or(0, |pages| pages.trim().parse().unwrap());
    // 64 transfers of 64 MiB in flight.
    assert!(
        free < 2048,
        "this test needs a machine with less than 4 GiB of huge pages free, here are {free}"
    );
    let scenarios =
        "[{name: large, memory: HugePages, transfer: {sizes: [64Mi], window: 64, batch: 4, iterations: 1}}]";
    let manifest = run(
        "[{name: baseline}, {name: doorbell, doorbell: {maxBatch: 4}}]",
        LOOPBACK,
        scenarios,
        &[ROUNDS, "resources: {hugepages2Mi: 64Gi, cpus: 2, memory: 1Gi}"],
    );
    nothing_can_be_measured(&manifest, FailureReason::MemoryUnavailable, "vm.nr_hugepages");
}

#[test]
fn gpu_memory_without_a_driver() {
    assert!(
        !fs::exists("/dev/nvidiactl").unwrap(),
        "this test needs a machine without a GPU"
    );
    let variants = "[{name: baseline}, {name: doorbell, doorbell: {maxBatch: 4}}]";
    let scenarios = "[{name: large, memory: Cuda, transfer: {operation: Write, sizes: [1Ki], window: 8, batch: 4, iterations: 200}}]";
    let manifest = run(variants, LOOPBACK, scenarios, &[ROUNDS, "resources: {gpus: 1}"]);
    nothing_can_be_measured(&manifest, FailureReason::MemoryUnavailable, "no CUDA driver");
}

#[test]
fn shared_memory_between_workers_that_have_their_own() {
    let desk = Desk::new();
    let apart = own_mounts("mount -t tmpfs none /dev/shm");
    let variants = format!(
        "[{{name: baseline}}, {{name: newer, library: {}}}]",
        newer_library()
    );
    let manifest = desk.manifest(&run(&variants, SHM, SHORT, &[ROUNDS]));
    let ended = Running::start(desk.run_by(&desk.runner(&apart), &manifest)).end();
    nothing_was_measured(
        &desk,
        ended,
        FailureReason::FabricUnreachable,
        "is not in this worker's /dev/shm",
    );
}

#[test]
fn a_library_that_is_not_there_fails_its_arm_and_no_other() {
    let variants = "[{name: baseline}, {name: other, library: /nowhere/lib}]";
    let (desk, ended) = carry_out(&run(variants, TCP, SHORT, &[ROUNDS]));
    let ended = ended.exits(3);
    ended.shows("failed (LibraryNotFound)");
    ended.shows("/nowhere/lib");
    let stored = Stored::read(&desk.run_folder(NAME));
    stored.is_complete();
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
    assert!(results.any(|result| result.arm == "baseline" && result.p50_nanos.is_some()));
}

#[test]
fn inject_above_the_limit_of_the_provider_gives_no_verdict() {
    let variants = "[{name: baseline}, {name: fi-inject, inject: {maxBytes: 256}}]";
    let (desk, ended) = carry_out(&run(variants, TCP, SHORT, &[ROUNDS]));
    ended.exits(0).shows("NotEngaged: over the inject limit of 128 B");
    let stored = Stored::read(&desk.run_folder(NAME));
    stored.is_complete();
    let mut above = 0;
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
        above += over_limit;
    }
    assert_eq!(above, 2 * 200, "two rounds");
    let status = stored.status();
    let of_256 = |size: u64, arm: &str| size == 256 && arm == "fi-inject";
    let result = status
        .results
        .iter()
        .find(|one| of_256(one.size_bytes, &one.arm))
        .unwrap();
    assert_eq!(result.optimizations[0].engagement, Engagement::NotEngaged);
    let mut comparisons = status.comparisons.iter();
    let comparison = comparisons.find(|one| of_256(one.size_bytes, &one.arm)).unwrap();
    assert_eq!(comparison.verdict, None);
    assert!(
        comparison.reason.as_ref().unwrap().starts_with("NotEngaged"),
        "{comparison:?}"
    );
}

#[test]
fn what_the_file_says_already_is_refused_before_anything_starts() {
    let on_gpu = "[{name: small, memory: Cuda, pingPong: {sizes: [64], iterations: 200}}]";
    let efa = "{libfabric: {provider: efa, rails: 4}}";
    for (manifest, words) in [
        (
            run(INJECT_64, LOOPBACK, on_gpu, &["resources: {gpus: 1}"]),
            "spec.scenarios[0].memory: memory Cuda cannot be injected",
        ),
        (
            run(INJECT_64, efa, SHORT, &["resources: {efas: 2}"]),
            "spec.transport.libfabric.rails: every rail needs an EFA device: rails is 4, spec.resources.efas is 2",
        ),
    ] {
        let (desk, ended) = carry_out(&manifest);
        let ended = ended.exits(2);
        ended.says(words);
        assert_eq!(ended.stdout, "");
        assert!(!desk.output().exists());
    }
}
