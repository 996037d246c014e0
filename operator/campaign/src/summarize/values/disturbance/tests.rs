use std::collections::BTreeMap;

use crds::assignment::AttemptIdentity;
use crds::record::{CaseResult, HelloRecord, HostEnvironment, Measurement, SideReport};

use super::*;
use crate::collect::FromStream;
use crate::fixture::failed_case;
use crate::validate::validate;

const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  \
                   baseline: a\n  transport: {libfabric: {provider: tcp, rails: 1}}\n  variants: [{name: a}]\n  \
                   scenarios: [{name: s, transfer: {sizes: [64], operation: Send}}]\n";

/// Time between the readings of a side, in nanoseconds.
const INTERVAL: u64 = 20_000_000;

fn contention(cpus: &str, busy: u64, own: u64, wait: u64) -> CpuContention {
    CpuContention {
        interval_nanos: INTERVAL,
        run_queue_nanos: Some(wait),
        longest_run_queue_nanos: Some(wait),
        cpus: Some(cpus.to_owned()),
        busy_nanos: Some(busy),
        own_nanos: Some(own),
    }
}

fn case(round: u32, sides: [CpuContention; 2]) -> Case {
    let [initiator, target] = sides.map(|contention| SideReport {
        window_nanos: INTERVAL,
        contention: Some(contention),
        ..SideReport::default()
    });
    Case {
        block: round,
        round,
        initiator: 0,
        target: 1,
        started_nanos: u64::from(round) * 2 * INTERVAL,
        outcome: CaseResult::Measured(Box::new(Measurement { initiator, target })),
        ..failed_case()
    }
}

fn hello(rank: u32, hostname: &str) -> FromStream<HelloRecord> {
    FromStream {
        leg: 0,
        attempt: 1,
        record: HelloRecord {
            version: 1,
            identity: AttemptIdentity {
                run: "test".to_owned(),
                uid: String::new(),
                plan_hash: String::new(),
                leg: 0,
                attempt: 1,
            },
            rank,
            workers: 2,
            runner_version: String::new(),
            started_at: String::new(),
            environment: HostEnvironment {
                hostname: hostname.to_owned(),
                ..HostEnvironment::default()
            },
        },
    }
}

/// Disturbance of the only result, where the workers run on these hosts.
fn disturbance(hosts: [&str; 2], cases: Vec<Case>) -> Option<Disturbance> {
    let run = crate::fixture::run_from_yaml(RUN);
    let plan = crate::plan::plan(&validate(&run).unwrap()).unwrap();
    let checks = vec![CaseCheck::default(); cases.len()];
    let foreign = vec![Some(5); cases.len()];
    let reports = Reports {
        hellos: vec![hello(0, hosts[0]), hello(1, hosts[1])],
        cases,
        ..Reports::default()
    };
    let found: BTreeMap<CellKey, Disturbance> = disturbances(&plan, &reports, &checks, &foreign);
    found.into_values().next()
}

#[test]
fn the_other_worker_on_the_same_cpus_is_not_foreign() {
    // Both sides see the same 2 CPUs, which were busy for 30 ms of 40 ms: 16 ms for the two sides, 14 ms for others.
    let sides = || {
        [
            contention("0-1", 30_000_000, 10_000_000, 0),
            contention("0-1", 30_000_000, 6_000_000, 0),
        ]
    };
    let found = disturbance(["h", "h"], vec![case(1, sides())]).unwrap();
    assert!(
        (found.foreign_cpu_share.unwrap() - 14.0 / 40.0).abs() < 1e-9,
        "{found:?}"
    );
    // On separate machines, each side only explains its own time.
    let found = disturbance(["h", "i"], vec![case(1, sides())]).unwrap();
    assert!(
        (found.foreign_cpu_share.unwrap() - 24.0 / 40.0).abs() < 1e-9,
        "{found:?}"
    );
}

/// Time that may belong to a worker of the run is not attributed to other processes.
#[test]
fn an_unknown_cpu_time_of_a_worker_makes_the_foreign_time_unknown() {
    let unknown = CpuContention {
        own_nanos: None,
        ..contention("0-1", 30_000_000, 0, 0)
    };
    let sides = [contention("0-1", 30_000_000, 10_000_000, 0), unknown];
    let found = disturbance(["h", "h"], vec![case(1, sides.clone())]).unwrap();
    assert_eq!(found.foreign_cpu_share, None, "{found:?}");
    let found = disturbance(["h", "i"], vec![case(1, sides)]).unwrap();
    assert!(
        (found.foreign_cpu_share.unwrap() - 20.0 / 40.0).abs() < 1e-9,
        "{found:?}"
    );
}

#[test]
fn steps_of_the_counters_cancel_out_over_the_cases() {
    // A side uses 10 ms of each 20 ms. The kernel's counter shows 0 or 20 ms.
    let cases = (1..=10).map(|round| {
        let busy = if round % 2 == 0 { 20_000_000 } else { 0 };
        case(
            round,
            [
                contention("0", busy, 10_000_000, 0),
                contention("1", busy, 10_000_000, 0),
            ],
        )
    });
    let found = disturbance(["h", "h"], cases.collect()).unwrap();
    assert_eq!(found.foreign_cpu_share, Some(0.0));
}

#[test]
fn waits_are_shares_of_the_measured_time_on_the_worse_side() {
    let cases = vec![
        case(1, [contention("0", 0, 0, 1_000_000), contention("1", 0, 0, 0)]),
        case(2, [contention("0", 0, 0, 3_000_000), contention("1", 0, 0, 0)]),
    ];
    let found = disturbance(["h", "h"], cases).unwrap();
    assert_eq!(found.run_queue_share, Some(0.1));
    assert_eq!(found.foreign_bytes, Some(10));
}

#[test]
fn nothing_is_reported_as_unknown_rather_than_zero() {
    let mut without = case(1, [contention("0", 0, 0, 0), contention("1", 0, 0, 0)]);
    if let CaseResult::Measured(measured) = &mut without.outcome {
        measured.initiator.contention = None;
        measured.target.contention = None;
    }
    let found = disturbance(["h", "h"], vec![without]).unwrap();
    assert_eq!((found.run_queue_share, found.foreign_cpu_share), (None, None));
}
