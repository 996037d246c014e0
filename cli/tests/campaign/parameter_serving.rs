//! Parameter serving: the modes over files and the fabric, exact counts of lost datagrams, and the number of workers.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crds::quantity::Quantity;
use crds::record::{CaseResult, FailureReason};
use crds::v1alpha1::{ArmResult, FabricProof};
use rustix::net::sockopt;
use serde::Deserialize;
use serde_yaml::Value;

use super::harness::{RunningCommand, TestDir, workspace};
use super::manifest::{NAME, TCP, run};
use super::stored_run::StoredRun;

const ONE: &str = "[{name: baseline}]";
const SAMPLING: &str = "sampling: {rounds: 2, control: false}";
/// A short case with versions of 500 kB.
const SHORT: &str = "sizes: [500k], pushPeriod: 25ms, pullPeriod: 25ms, postPeriod: 100ms, maxTime: 500ms";

fn result<'a>(stored: &'a StoredRun, scenario: &str, arm: &str) -> &'a ArmResult {
    let mut results = stored.status().results.iter();
    let found = results.find(|one| (one.scenario.as_str(), one.arm.as_str()) == (scenario, arm));
    found.unwrap_or_else(|| panic!("no result of {scenario} {arm}: {:?}", stored.status().results))
}

#[test]
fn example_measures_every_mode_over_both_libraries() {
    let mut text = std::fs::read_to_string(workspace().join("examples/parameter-serving.yaml")).unwrap();
    for mode in ["mode: Push", "mode: Pull", "mode: Filesystem"] {
        let shorter = text.replace(mode, &format!("{mode}, {SHORT}"));
        assert_ne!(shorter, text);
        text = shorter;
    }
    // Other runs use the example's directory concurrently.
    let store = tempfile::tempdir().unwrap();
    let own = format!("directory: {}", store.path().display());
    text = text.replace("directory: /dev/shm", &own);
    assert!(text.contains(&own));
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&text));
    command.args(["--rounds", "2"]);
    let output = RunningCommand::start(command).wait();
    // The test does not depend on the verdict or on the noise of this machine.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir("parameter-serving"));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    for arm in ["libfabric", "ucx"] {
        for scenario in ["push", "pull", "filesystem"] {
            let found = result(&stored, scenario, arm);
            println!("{scenario} {arm}: {found:?}");
            assert_eq!(
                (
                    found.value(Quantity::ServingWorkers),
                    found.value(Quantity::ServingClockBoundNanos)
                ),
                (Some(4), Some(0))
            );
            assert_eq!(
                found.value(Quantity::ServingPushP50Nanos).is_some(),
                scenario != "pull"
            );
            assert_eq!(
                found.value(Quantity::ServingPublishedNotDeliveredToAll).is_some(),
                scenario != "pull"
            );
            assert!(
                found.value(Quantity::ServingPublished) > Some(0)
                    && found.value(Quantity::ServingPublishedNotDeliveredToAll)
                        <= found.value(Quantity::ServingPublished)
            );
            assert_eq!(found.value(Quantity::ServingWorkersWithoutVersion), Some(0));
            assert_eq!(
                found.value(Quantity::ServingPullP50Nanos).is_some(),
                scenario != "push"
            );
            assert_eq!(found.value(Quantity::ServingDatagramsSent), None);
            assert!(
                found.value(Quantity::ServingStoreLagPpm).is_some()
                    && found.value(Quantity::ServingPostLagPpm).is_some()
            );
            assert!(
                found.value(Quantity::LatencyP50Nanos).is_some()
                    && found.value(Quantity::Iterations).is_none(),
                "{found:?}"
            );
            let proof = match scenario {
                "filesystem" => FabricProof::Declared,
                _ => FabricProof::Verified,
            };
            assert_eq!(found.fabric, Some(proof), "{found:?}");
        }
    }
    let (junit, metrics) = dir.machine_reports("parameter-serving");
    assert!(junit.contains("complete and trustworthy"), "{junit}");
    for metric in [
        "version_lag_mean",
        "worst_worker_version_lag_mean",
        "workers_without_version",
        "posted_staleness",
        "push_bytes_per_second",
        "published_versions",
        "versions_not_delivered_to_all",
        "pull_seconds",
        "cold_steps",
        "cold_seconds",
    ] {
        assert!(
            metrics.contains(&format!("fabricbench_arm_{metric}{{")),
            "{metric}: {metrics}"
        );
    }
    for text in ["stale ", "posts ", "delivery ", "excluded "] {
        assert!(output.stdout.contains(text), "{text}: {output}");
    }
    // The file is removed after each case.
    let left: Vec<_> = std::fs::read_dir(store.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Forwards datagrams to `group` until `ends` is set, but drops every hundredth datagram. Returns the number of
/// received and the number of dropped datagrams.
fn relay(socket: &UdpSocket, group: (Ipv4Addr, u16), ends: &AtomicBool) -> (u64, u64) {
    let (mut received, mut dropped) = (0, 0);
    let mut packet = vec![0; 65_536];
    while !ends.load(Ordering::Acquire) {
        let Ok(length) = socket.recv(&mut packet) else {
            continue;
        };
        received += 1;
        if received % 100 == 0 {
            dropped += 1;
        } else {
            socket.send_to(&packet[..length], group).unwrap();
        }
    }
    (received, dropped)
}

#[test]
fn datagrams_that_never_arrive_fail_the_case() {
    // Nothing forwards what this socket receives.
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = silent.local_addr().unwrap();
    let scenarios = format!(
        "[{{name: silent, parameterServing: {{mode: Multicast, sizes: [20k], pushPeriod: 20ms, maxTime: 200ms, workers: [2], \
         multicast: {{group: 239.255.7.12, port: {}, interface: 127.0.0.1, relay: '{address}'}}}}}}]",
        address.port()
    );
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(
        ONE,
        TCP,
        &scenarios,
        &["sampling: {rounds: 1, control: false}"],
    ));
    let output = RunningCommand::start(dir.run(&manifest)).wait().expect_code(3);
    output.expect_stdout("datagrams to 127.0.0.1");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    let (_, failure) = stored.only_failure();
    assert_eq!(failure.reason, FailureReason::FabricUnreachable, "{failure:?}");
}

#[test]
fn datagrams_that_a_relay_drops_are_counted_exactly() {
    let workers = 3;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    // The relay must not lose additional datagrams.
    sockopt::set_socket_recv_buffer_size_force(&socket, 64 << 20)
        .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, 64 << 20))
        .unwrap();
    sockopt::set_ip_multicast_if(&socket, &Ipv4Addr::LOCALHOST).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let address = socket.local_addr().unwrap();
    let group = (Ipv4Addr::new(239, 255, 7, 11), address.port());
    // 49 datagrams per version: every second version lacks one.
    let scenarios = format!(
        "[{{name: lossy, parameterServing: {{mode: Multicast, sizes: [200k], pushPeriod: 20ms, postPeriod: 200ms, \
         maxTime: 1s, workers: [{workers}], multicast: {{group: {}, port: {}, interface: 127.0.0.1, relay: '{address}', \
         datagram: 4Ki, rate: 20M}}}}}}]",
        group.0, group.1
    );
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[SAMPLING]));
    let ends = AtomicBool::new(false);
    let (received, dropped) = std::thread::scope(|scope| {
        let relay = scope.spawn(|| relay(&socket, group, &ends));
        // The relay is in this namespace.
        let output = RunningCommand::start_among_others(dir.run(&manifest)).wait();
        ends.store(true, Ordering::Release);
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
        relay.join().unwrap()
    });
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let found = result(&stored, "lossy", "baseline");
    println!("{received} received, {dropped} dropped: {found:?}");
    assert!(dropped >= 20, "{dropped}");
    // Every worker lacks the datagrams that the relay dropped, and no others.
    assert_eq!(
        found.value(Quantity::ServingDatagramsSent),
        i64::try_from(received * workers).ok()
    );
    assert_eq!(
        found.value(Quantity::ServingDatagramsLost),
        i64::try_from(dropped * workers).ok()
    );
    assert_eq!(found.value(Quantity::ServingTorn), Some(0));
    for case in stored.cases() {
        let CaseResult::Measured(measured) = &case.result else {
            continue;
        };
        let report = measured.target.serving.as_ref().unwrap();
        for worker in &report.workers {
            let datagrams = worker.datagrams.unwrap();
            assert_eq!(datagrams.sent, 49 * report.published);
            assert_eq!(datagrams.received + datagrams.lost, datagrams.sent);
            assert_eq!(datagrams.duplicates, 0);
            // A version that lacks a datagram is not used.
            assert!(datagrams.incomplete_versions > 0 && datagrams.incomplete_versions <= datagrams.lost);
        }
    }
}

#[test]
fn worker_counts_become_scenarios_that_are_reported_together() {
    let scenarios = format!("[{{name: push, parameterServing: {{mode: Push, {SHORT}, workers: [1, 3]}}}}]");
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[SAMPLING]));
    let output = RunningCommand::start(dir.run(&manifest)).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    for (scenario, workers) in [("push-1", 1), ("push-3", 3)] {
        let found = result(&stored, scenario, "baseline");
        assert_eq!(found.value(Quantity::ServingWorkers), Some(workers));
    }
    assert!(output.stdout.contains("scaling  1 worker: "), "{output}");
    assert!(output.stdout.contains("scaling  3 workers: "), "{output}");
    let page = std::fs::read_to_string(dir.run_dir(NAME).join("report.html")).unwrap();
    let plot = "Time from publication to use by number of workers for push at 500000 B";
    assert!(page.contains(plot), "no plot of the worker counts");
}

#[test]
fn directory_that_the_trainer_cannot_write_is_reported_by_name() {
    let scenarios =
        format!("[{{name: file, parameterServing: {{mode: Filesystem, directory: /proc, {SHORT}}}}}]");
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[SAMPLING]));
    let output = RunningCommand::start(dir.run(&manifest)).wait();
    assert_eq!(output.status.code(), Some(3), "{output}");
    assert!(
        output.stdout.contains("/proc (parameterServing.directory)"),
        "{output}"
    );
}

#[test]
fn workers_on_several_nodes_share_the_versions_of_one_trainer() {
    let scenarios = format!(
        "[{{name: push, parameterServing: {{mode: Push, {SHORT}, workersPerNode: [1, 2]}}}}, \
         {{name: pull, parameterServing: {{mode: Pull, {SHORT}, workersPerNode: [2]}}}}, \
         {{name: file, parameterServing: {{mode: Filesystem, directory: /dev/shm, {SHORT}}}}}, \
         {{name: group, parameterServing: {{mode: Multicast, {SHORT}, \
         multicast: {{group: 239.255.7.12, port: 17781, interface: 127.0.0.1, rate: 40M}}}}}}]"
    );
    let nodes = "placement: {pattern: ManyToMany, senders: 1, receivers: 2}";
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[SAMPLING, nodes]));
    let output = RunningCommand::start(dir.run(&manifest)).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    for (scenario, workers) in [
        ("push-2", 2),
        ("push-4", 4),
        ("pull", 4),
        ("file", 2),
        ("group", 2),
    ] {
        let found = result(&stored, scenario, "baseline");
        println!("{scenario}: {found:?}");
        assert_eq!(found.value(Quantity::ServingWorkers), Some(workers));
        assert_eq!(
            found.value(Quantity::ServingPushP50Nanos).is_some(),
            scenario != "pull"
        );
        assert_eq!(found.value(Quantity::FlowsMedianBytesPerSecond), None);
    }
    assert!(output.stdout.contains("scaling  2 workers: "), "{output}");
    let (first, second): (Vec<_>, Vec<_>) = stored.cases().into_iter().partition(|case| case.target == 1);
    assert_eq!((first.len(), second.len()), (10, 10));
    for (first, second) in first.iter().zip(&second) {
        let (CaseResult::Measured(one), CaseResult::Measured(two)) = (&first.result, &second.result) else {
            panic!("{first:?} {second:?}");
        };
        assert_eq!((&first.scenario, first.round), (&second.scenario, second.round));
        let published = |side: &crds::record::SideReport| side.serving.as_ref().unwrap().published;
        assert!(published(&one.target) >= 15, "{one:?}");
        assert_eq!(published(&one.target), published(&two.target));
        let posted = |side: &crds::record::SideReport| side.posted.clone();
        match first.scenario.as_str() {
            // The push time is the time until the last worker on any node has a version. Only the first flow reports
            // it.
            "push-2" | "push-4" => {
                let (one, two) = (posted(&one.initiator).unwrap(), posted(&two.initiator).unwrap());
                assert!(one.operations > 0 && two.operations > 0);
                assert!(one.latency.count() > 0 && two.latency.count() == 0);
            }
            "pull" => assert_eq!((posted(&one.initiator), posted(&two.initiator)), (None, None)),
            // One file or group serves both nodes.
            _ => {
                assert_eq!(posted(&one.initiator).unwrap().operations, published(&one.target));
                assert_eq!(posted(&two.initiator), None);
            }
        }
    }
}

#[test]
fn trainer_that_cannot_write_fails_the_cases_of_all_nodes() {
    let scenarios =
        format!("[{{name: file, parameterServing: {{mode: Filesystem, directory: /proc/self, {SHORT}}}}}]");
    let nodes = "placement: {pattern: ManyToMany, senders: 1, receivers: 2}";
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[SAMPLING, nodes]));
    let output = RunningCommand::start(dir.run(&manifest)).wait();
    assert_eq!(output.status.code(), Some(3), "{output}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_all_failed(FailureReason::OperationRejected);
    let (_, failure) = stored.failures()[0];
    assert!(
        failure.message.contains("(parameterServing.directory)"),
        "{failure:?}"
    );
}

/// Returns the manifests with at most two workers, and with fewer versions, which make the test shorter. Multicast has
/// smaller versions and a proportionally lower limit, so that a busy machine does not lose datagrams.
fn shortened(manifests: &str) -> String {
    let documents = serde_yaml::Deserializer::from_str(manifests).map(|document| {
        let mut run = Value::deserialize(document).unwrap();
        for scenario in run["spec"]["scenarios"].as_sequence_mut().unwrap() {
            let serving = &mut scenario["parameterServing"];
            serving["maxTime"] = "600ms".into();
            serving["workers"] = vec![1, 2].into();
            if let Some(multicast) = serving.get_mut("multicast") {
                multicast["rate"] = "60M".into();
                serving["sizes"] = vec!["2M"].into();
            }
        }
        serde_yaml::to_string(&run).unwrap()
    });
    documents.collect::<Vec<String>>().join("---\n")
}

/// Measures one round of a shortened example that has the runs `names`.
fn measure_known_issue<const N: usize>(example: &str, names: [&str; N]) -> [StoredRun; N] {
    let text = std::fs::read_to_string(workspace().join(format!("examples/{example}.yaml"))).unwrap();
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&shortened(&text)));
    command.args(["--rounds", "1"]);
    let output = RunningCommand::start(command).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    names.map(|name| {
        let stored = StoredRun::read(&dir.run_dir(name));
        stored.assert_complete();
        assert_eq!(stored.failures(), Vec::new());
        assert_eq!(stored.status().results.len(), 4);
        stored
    })
}

#[test]
fn multicast_never_exceeds_its_limit_and_writes_are_faster() {
    let [stored] = measure_known_issue("parameter-serving-multicast", ["parameter-serving-multicast"]);
    for workers in ["1", "2"] {
        let (limited, written) = (format!("multicast-{workers}"), format!("push-{workers}"));
        let found = |scenario: &str| result(&stored, scenario, "shm");
        let (multicast, push) = (found(&limited), found(&written));
        println!("{multicast:?}\n{push:?}");
        // 2 MB at 60 MB/s, and 10 MB at 300 MB/s, take 33.3 ms, which is longer than the push period of 30 ms.
        assert!(multicast.value(Quantity::ServingPushP50Nanos).unwrap() >= 33_000_000);
        assert!(multicast.value(Quantity::ServingPushBytesPerSecond).unwrap() <= 60_600_000);
        assert!(
            push.value(Quantity::LatencyP50Nanos).unwrap()
                < multicast.value(Quantity::LatencyP50Nanos).unwrap()
        );
        let lag = |result: &ArmResult| result.value(Quantity::ServingVersionLagMeanPpm).unwrap();
        assert!(lag(push) < lag(multicast));
    }
}

#[test]
fn a_store_slows_down_with_the_number_of_jobs_and_writes_are_faster() {
    let runs = measure_known_issue(
        "parameter-serving-store",
        ["parameter-serving-one-job", "parameter-serving-three-jobs"],
    );
    let [one, three] = runs.map(|stored| {
        let file = result(&stored, "filesystem-2", "shm");
        let used_after = |scenario: &str| {
            result(&stored, scenario, "shm")
                .value(Quantity::LatencyP50Nanos)
                .unwrap()
        };
        println!("{file:?}");
        assert!(used_after("push-2") < used_after("filesystem-2"));
        file.value(Quantity::ServingPushP50Nanos).unwrap()
    });
    assert!(three > one, "{three} {one}");
}
