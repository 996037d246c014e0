//! Tests of attempts that complete.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crds::assignment::pilot::PilotCounts;
use crds::assignment::{Assignment, Extent, InstrumentProcess, OperationCount, Pass};
use crds::record::{CaseResult, Record, WarningReason};
use crds::v1alpha1::{LibfabricProvider, TransportSpec};

use super::gang::{FinishedAttempt, Gang};
use super::plan::{assignment, libfabric, loopback};

fn run(assignment: &Assignment) -> FinishedAttempt {
    Gang::start(assignment, 0..assignment.workers, &[]).finish()
}

/// Asserts that the stream contains every case of every pair exactly once, and that every case succeeded with the
/// expected number of bytes.
fn assert_complete(assignment: &Assignment, finished: &FinishedAttempt) {
    assert!(
        finished.end().complete,
        "{:?}\n{}",
        finished.end(),
        finished.stderr()
    );
    let workers = assignment.workers;
    assert_eq!(
        finished.statuses(),
        (0..workers).map(|rank| (rank, 0)).collect::<Vec<_>>()
    );
    assert_eq!(finished.failures(), Vec::new());
    let pairs = workers * (workers - 1) / 2;
    let blocks: Vec<_> = assignment.rounds.iter().flat_map(|round| &round.blocks).collect();
    let mut seen = BTreeSet::new();
    for case in finished.cases() {
        assert!(case.initiator < case.target && case.target < workers);
        assert!(seen.insert((case.block, case.arm.clone(), case.initiator, case.target)));
        match &case.result {
            CaseResult::Measured(measured) => {
                let posted = measured.initiator.posted.as_ref().unwrap();
                assert_eq!((case.round > 0, posted.operations), (true, 100));
                assert_eq!(posted.payload_bytes, 100 * case.size_bytes);
                assert!(posted.elapsed_nanos > 0 && measured.target.window_nanos > 0);
            }
            CaseResult::Checked(report) => {
                assert_eq!(case.round, 0);
                assert!(report.bytes > 0 && report.first_mismatch.is_none());
                assert_eq!(report.crc32c_expected, report.crc32c_found);
            }
            CaseResult::Failed(failure) => panic!("{failure:?}"),
        }
    }
    assert_eq!(seen.len() as u32, pairs * 2 * blocks.len() as u32);
    assert_eq!(finished.end().blocks as usize, blocks.len());
    assert_eq!(
        finished.count(|record| matches!(record, Record::Hello(_))) as u32,
        workers
    );
    assert_eq!(
        finished.count(|record| matches!(record, Record::Block(_))),
        blocks.len()
    );
    let arms = workers as usize * 2;
    assert_eq!(
        finished.count(|record| matches!(record, Record::Cold(_))),
        arms * assignment.rounds.len()
    );
    assert_eq!(
        finished.count(|record| matches!(record, Record::Endpoints(_))),
        arms
    );
}

fn run_and_assert_complete(workers: u32, transport: TransportSpec) -> FinishedAttempt {
    let assignment = assignment(workers, transport, 2);
    let finished = run(&assignment);
    assert_complete(&assignment, &finished);
    finished
}

#[test]
fn completes_with_two_workers_over_loopback() {
    let finished = run_and_assert_complete(2, loopback());
    let injected = finished.warnings(WarningReason::Evidence);
    assert_eq!(injected, ["Using fi_injectdata for small message size=64"]);
    // The arms of a block run back to back, in the order that the assignment specifies.
    let mut order: BTreeMap<u32, Vec<(u32, &str)>> = BTreeMap::new();
    for case in finished.cases() {
        order
            .entry(case.block)
            .or_default()
            .push((case.position, &case.arm));
    }
    assert_eq!(order[&0], [(0, "fi-inject"), (1, "baseline")]);
    assert_eq!(order[&1], [(0, "baseline"), (1, "fi-inject")]);
}

/// A worker measures with its own monotonic clock, so the time of day may differ between the nodes.
#[test]
fn completes_with_workers_whose_clocks_differ_by_an_hour() {
    let library = format!("/usr/lib/{ARCH}-linux-gnu/faketime/libfaketimeMT.so.1");
    let hour_ahead = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", "+3600"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let mut date = Command::new("date");
    let date = date.arg("+%s").envs(hour_ahead).output().unwrap().stdout;
    let date: u64 = String::from_utf8(date).unwrap().trim().parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!(date > now + 3000, "{library} has no effect: install libfaketime");

    let assignment = assignment(2, loopback(), 2);
    let mut gang = Gang::start(&assignment, 0..1, &[]);
    gang.start_worker(1, &hour_ahead);
    assert_complete(&assignment, &gang.finish());
}

/// All arms, pairs and rounds use the same operation count, which is the count that the fastest pilot case needs to
/// fill the window.
#[test]
fn pilot_determines_the_operation_count_of_all_cases() {
    let mut assignment = assignment(3, loopback(), 2);
    for scenario in &mut assignment.scenarios {
        scenario.workload.set_measured(Extent::FillWindow {
            min_iterations: 10,
            min_window_nanos: 5_000_000,
        });
    }
    // Only the first scenario has a pilot here. For the second scenario, the assignment contains the operation count
    // that an earlier attempt's pilot determined.
    assignment.rounds[0].blocks.truncate(1);
    assignment.rounds[0].blocks[0].pass = Pass::Pilot;
    assignment.operation_counts = vec![OperationCount {
        scenario: 1,
        size_bytes: 64 * 1024,
        iterations: 77,
    }];
    let finished = run(&assignment);
    assert_eq!(finished.failures(), Vec::new());
    let (mut pilots, mut used) = (PilotCounts::default(), BTreeSet::new());
    let mut pilot_cases = 0;
    for case in finished.cases() {
        let CaseResult::Measured(measured) = &case.result else {
            panic!("{case:?}");
        };
        let posted = measured.initiator.posted.as_ref().unwrap();
        match case.pass {
            Pass::Pilot => {
                assert!(posted.elapsed_nanos >= 5_000_000, "{posted:?}");
                let workload = &assignment.scenarios[0].workload;
                let worker = (posted.operations, posted.elapsed_nanos);
                pilots.add((0, 0), workload, assignment.case_deadline_seconds, [worker]);
                pilot_cases += 1;
            }
            _ => drop(used.insert((case.scenario.as_str(), posted.operations))),
        }
    }
    assert_eq!(pilot_cases, 6, "two arms and three pairs");
    let count = pilots.get(0, 0).unwrap();
    let expected = u64::from(count.iterations(&assignment.scenarios[0].workload));
    assert_eq!(used, BTreeSet::from([("small", expected), ("large", 77)]));
}

#[test]
fn completes_with_three_workers_over_loopback() {
    run_and_assert_complete(3, loopback());
}

#[test]
fn completes_with_four_workers_over_loopback() {
    run_and_assert_complete(4, loopback());
}

#[test]
fn completes_with_two_workers_over_libfabric_tcp() {
    let finished = run_and_assert_complete(2, libfabric(LibfabricProvider::Tcp));
    for record in &finished.records {
        if let Record::Endpoints(endpoints) = record {
            let fabric = endpoints.fabric.as_ref().unwrap();
            assert!(
                ["net", "tcp"].contains(&fabric.provider.as_str()),
                "{}",
                fabric.provider
            );
            assert_eq!(fabric.rails.len(), 2);
            assert_eq!(fabric.rails[0].interface.as_deref(), Some("lo"));
        }
    }
}

#[test]
fn completes_with_three_workers_over_libfabric_shm() {
    run_and_assert_complete(3, libfabric(LibfabricProvider::Shm));
}

/// Arms with different environments run in separate processes. Each process records its environment.
#[test]
fn runs_arms_with_different_environments_in_separate_processes() {
    let mut assignment = assignment(2, loopback(), 1);
    let variable = ("FI_TEST_ENVIRONMENT".to_owned(), "second".to_owned());
    assignment.processes.push(InstrumentProcess {
        env: [variable].into(),
        ..InstrumentProcess::default()
    });
    assignment.arms[1].process = 1;
    for round in &mut assignment.rounds {
        round.process_order = vec![1, 0];
    }
    let finished = run(&assignment);
    assert_complete(&assignment, &finished);
    for record in &finished.records {
        if let Record::Endpoints(endpoints) = record {
            let variables = &endpoints.fabric.as_ref().unwrap().variables;
            let found = variables.get("FI_TEST_ENVIRONMENT").map(String::as_str);
            assert_eq!(found, (endpoints.arm == "fi-inject").then_some("second"));
        }
    }
}

/// Library output is not copied to the stream. Instead, a warning contains its last lines.
#[test]
fn records_library_output_as_warnings() {
    let mut assignment = assignment(2, libfabric(LibfabricProvider::Shm), 1);
    let variable = ("FI_LOG_LEVEL".to_owned(), "info".to_owned());
    assignment.processes[0].env = [variable].into();
    let finished = run(&assignment);
    assert_complete(&assignment, &finished);
    let printed = finished.warnings(WarningReason::LibraryOutput);
    // Two workers, each with one instrument process per round, in two rounds.
    assert_eq!(printed.len(), 4, "{printed:?}");
    for text in printed {
        assert!(
            text.starts_with("instrument process 0 printed:\n") && text.contains("libfabric:"),
            "{text}"
        );
        assert!(text.len() <= 4096);
    }
}
