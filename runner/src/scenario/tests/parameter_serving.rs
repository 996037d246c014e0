//! Tests of parameter serving.

use std::time::Duration;

use crds::assignment::{Delivery, MulticastDelivery, ServingWorkload, Workload};
use crds::record::{CaseFailure, FailureReason, ServingReport, SideReport};

use super::fixture::{BASELINE, Pair};
use crate::scenario::Role;
use crate::test_transport::Faults;

const SIZE: u64 = 100_000;
const WORKERS: u32 = 3;

fn millis(count: u64) -> u64 {
    count * 1_000_000
}

fn serving(delivery: Delivery) -> ServingWorkload {
    ServingWorkload {
        delivery,
        workers: WORKERS,
        push_nanos: millis(20),
        pull_nanos: millis(15),
        post_nanos: millis(60),
        step_nanos: millis(1),
        max_version: 12,
        max_time_nanos: millis(10_000),
    }
}

fn pair(serving: ServingWorkload) -> Pair {
    Pair::new(Workload::ParameterServing(serving), BASELINE, 1, SIZE)
}

fn measure(pair: &mut Pair) -> (SideReport, SideReport, ServingReport) {
    let (trainer, workers) = pair.measure(SIZE);
    let report = workers.serving.clone().unwrap();
    (trainer, workers, *report)
}

/// Checks the properties that hold in every mode.
fn assert_consistent(workers: &SideReport, report: &ServingReport) {
    assert_eq!(report.published, 12);
    assert!(report.same_clock && report.clock_bound_nanos == 0);
    assert_eq!(report.workers.len(), WORKERS as usize);
    let steps: u64 = report.workers.iter().map(|worker| worker.steps).sum();
    let lags: u64 = report.workers.iter().map(|worker| worker.version_lag_sum).sum();
    assert_eq!(report.version_lag.count(), steps);
    assert_eq!(report.time_lag.histogram.count(), steps);
    let mean = report.version_lag.mean().unwrap();
    assert!((mean - lags as f64 / steps as f64).abs() < 1e-6, "{mean}");
    for worker in &report.workers {
        // There are 12 periods of 20 ms. A worker may miss the first ones if its thread starts later than the trainer.
        assert!(worker.steps + worker.cold_steps >= 200, "{worker:?}");
        assert!(worker.posts >= 3, "{worker:?}");
        let (posted, original) = (worker.posted.unwrap(), worker.original.unwrap());
        assert!(posted.posts > 0 && original.posts >= posted.posts, "{worker:?}");
        assert!(
            posted.store_versions >= 0.0 && posted.post_versions >= 0.0,
            "{worker:?}"
        );
        // At steps without a version, the original benchmark counts version -1.
        let sum = posted.store_versions + posted.post_versions;
        assert!(original.versions >= sum - 1e-9, "{worker:?}");
    }
    let posted = workers.posted.as_ref().unwrap();
    let versions: u64 = report.workers.iter().map(|worker| worker.versions).sum();
    assert_eq!((posted.operations, posted.latency.count()), (versions, versions));
    assert_eq!(posted.payload_bytes, versions * SIZE);
}

#[test]
fn pushed_versions_reach_every_worker() {
    let (trainer, workers, report) = measure(&mut pair(serving(Delivery::Push)));
    assert_consistent(&workers, &report);
    let pushed = trainer.posted.unwrap();
    assert!(pushed.latency.count() > 0 && pushed.operations >= pushed.latency.count() * 3);
    assert_eq!(pushed.payload_bytes, pushed.operations * SIZE);
    let used: u64 = report.workers.iter().map(|worker| worker.versions).sum();
    assert!(used <= pushed.operations, "{used} {}", pushed.operations);
    assert!(pushed.counters.bytes_per_rail[0] >= pushed.payload_bytes);
    assert_eq!(report.pull, None);
}

#[test]
fn pulled_versions_are_read_from_the_trainer() {
    let (trainer, workers, report) = measure(&mut pair(serving(Delivery::Pull)));
    assert_consistent(&workers, &report);
    assert_eq!(trainer.posted, None);
    let read = workers.posted.unwrap();
    assert!(read.counters.bytes_per_rail[0] >= read.payload_bytes);
    assert!(report.pull.unwrap().histogram.count() <= read.operations);
}

#[test]
fn file_is_read_by_every_worker_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let delivery = Delivery::Filesystem {
        directory: directory.path().display().to_string(),
    };
    let (trainer, workers, report) = measure(&mut pair(serving(delivery)));
    assert_consistent(&workers, &report);
    let written = trainer.posted.unwrap();
    assert_eq!((written.operations, written.latency.count()), (12, 12));
    assert_eq!(written.counters.bytes_per_rail, [0]);
    assert!(report.pull.unwrap().histogram.count() > 0);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn datagrams_are_counted_for_every_worker() {
    let port = std::net::UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let group = format!("239.255.7.9:{port}");
    let delivery = Delivery::Multicast(MulticastDelivery {
        destination: group.clone(),
        group,
        interface: Some("127.0.0.1".to_owned()),
        datagram_bytes: 8192,
        bytes_per_second: Some(50_000_000),
    });
    let (trainer, workers, report) = measure(&mut pair(serving(delivery)));
    assert_consistent(&workers, &report);
    assert_eq!(trainer.posted.unwrap().operations, 12);
    for worker in &report.workers {
        let datagrams = worker.datagrams.unwrap();
        // Each version consists of 13 datagrams.
        assert_eq!(datagrams.sent, 12 * 13);
        assert_eq!(datagrams.lost, datagrams.sent - datagrams.received);
        assert!(datagrams.incomplete_versions <= 12 - worker.versions);
    }
}

#[test]
fn torn_and_corrupted_versions_are_not_used() {
    for faults in [
        Faults {
            tear_at: Some(40),
            ..Faults::default()
        },
        Faults {
            corrupt_at: Some(40),
            ..Faults::default()
        },
    ] {
        let mut pair = pair(serving(Delivery::Push));
        // The first payload posts of each thread are the clock readings.
        pair.set_faults(Role::Initiator, &faults);
        let (_, workers, report) = measure(&mut pair);
        let torn: Vec<u64> = report.workers.iter().map(|worker| worker.torn).collect();
        assert_eq!(torn, [1; WORKERS as usize], "{faults:?}");
        assert_consistent(&workers, &report);
    }
}

#[test]
fn slow_worker_gets_the_latest_version_next() {
    let mut pair = pair(serving(Delivery::Push));
    let faults = Faults {
        stall_at: Some((36, Duration::from_millis(70))),
        ..Faults::default()
    };
    // Thread 0 also publishes the versions, which must not be delayed.
    pair.initiator.threads[2].transport.faults = faults;
    let (_, workers, report) = measure(&mut pair);
    assert_consistent(&workers, &report);
    let slow = &report.workers[2];
    assert!(slow.version_lag_max >= 2, "{slow:?}");
    assert!(slow.time_lag_max_nanos >= millis(30), "{slow:?}");
    assert!(slow.versions < 12, "{slow:?}");
}

#[test]
fn missing_directory_is_reported_by_name() {
    let delivery = Delivery::Filesystem {
        directory: "/does-not-exist".to_owned(),
    };
    let (trainer, workers) = pair(serving(delivery)).run(crds::assignment::Pass::Measure, SIZE);
    let (trainer, workers) = (trainer.unwrap_err(), workers.unwrap_err());
    assert_eq!(trainer.reason, FailureReason::OperationRejected);
    assert_eq!(workers.reason, FailureReason::OperationRejected);
    // The side that fails second may only report that the other side has abandoned the case.
    let names = |failure: &CaseFailure| {
        failure
            .message
            .contains("/does-not-exist (parameterServing.directory)")
    };
    assert!(names(&trainer) || names(&workers), "{trainer:?} {workers:?}");
}

#[test]
fn maximum_time_ends_the_case_before_the_maximum_version() {
    let serving = ServingWorkload {
        max_time_nanos: millis(100),
        max_version: 1000,
        ..serving(Delivery::Push)
    };
    let (_, _, report) = measure(&mut pair(serving));
    assert_eq!(report.published, 5);
}
