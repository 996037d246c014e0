//! Parameter serving: the modes over files and the fabric, exact counts of lost datagrams, and the number of workers.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crds::record::CaseResult;
use crds::v1alpha1::{ArmResult, FabricProof, ServingResult};
use rustix::net::sockopt;

use super::harness::{RunningCommand, TestDir, workspace};
use super::manifest::{NAME, TCP, run};
use super::stored_run::StoredRun;

const ONE: &str = "[{name: baseline}]";
const SAMPLING: &str = "sampling: {rounds: 2, control: false}";
/// A short case with versions of 500 kB.
const SHORT: &str = "sizes: [500k], pushPeriod: 50ms, pullPeriod: 50ms, postPeriod: 200ms, maxTime: 1s";

fn result<'a>(stored: &'a StoredRun, scenario: &str, arm: &str) -> &'a ArmResult {
    let mut results = stored.status().results.iter();
    let found = results.find(|one| (one.scenario.as_str(), one.arm.as_str()) == (scenario, arm));
    found.unwrap_or_else(|| panic!("no result of {scenario} {arm}: {:?}", stored.status().results))
}

fn serving(stored: &StoredRun, scenario: &str, arm: &str) -> ServingResult {
    result(stored, scenario, arm).serving.unwrap()
}

#[test]
fn example_measures_every_mode_over_both_libraries() {
    let mut text = std::fs::read_to_string(workspace().join("examples/parameter-serving.yaml")).unwrap();
    for mode in ["mode: Push", "mode: Pull", "mode: Filesystem"] {
        let shorter = text.replace(mode, &format!("{mode}, {SHORT}"));
        assert_ne!(shorter, text);
        text = shorter;
    }
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
            let found = serving(&stored, scenario, arm);
            println!("{scenario} {arm}: {found:?}");
            assert_eq!((found.workers, found.clock_bound_nanos), (4, 0));
            assert_eq!(found.push_p50_nanos.is_some(), scenario != "pull");
            assert_eq!(found.pull_p50_nanos.is_some(), scenario != "push");
            assert_eq!(found.datagrams_sent, None);
            assert!(found.store_lag_ppm.is_some() && found.post_lag_ppm.is_some());
            let result = result(&stored, scenario, arm);
            assert!(
                result.p50_nanos.is_some() && result.iterations.is_none(),
                "{result:?}"
            );
            let proof = match scenario {
                "filesystem" => FabricProof::Declared,
                _ => FabricProof::Verified,
            };
            assert_eq!(result.fabric, Some(proof), "{result:?}");
        }
    }
    for text in ["stale ", "posts ", "delivery ", "excluded "] {
        assert!(output.stdout.contains(text), "{text}: {output}");
    }
    // The file is removed after each case.
    let files = std::fs::read_dir("/dev/shm").unwrap();
    let left: Vec<_> = files
        .filter_map(|file| file.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with("fabricbench-parameters"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// Forwards datagrams to `group` until `ends` is set, except every hundredth. Returns the numbers of received and dropped
/// datagrams.
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
fn datagrams_that_a_relay_drops_are_counted_exactly() {
    let workers = 3;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    // The relay must not lose datagrams by itself.
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
        let output = RunningCommand::start(dir.run(&manifest)).wait();
        ends.store(true, Ordering::Release);
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
        relay.join().unwrap()
    });
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let found = serving(&stored, "lossy", "baseline");
    println!("{received} received, {dropped} dropped: {found:?}");
    assert!(dropped >= 20, "{dropped}");
    // Every worker lacks the datagrams that the relay dropped, and no others.
    assert_eq!(found.datagrams_sent, Some(received * workers));
    assert_eq!(found.datagrams_lost, Some(dropped * workers));
    assert_eq!(found.torn, 0);
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
            // A version without one of its datagrams is not used.
            assert!(datagrams.incomplete_versions > 0 && datagrams.incomplete_versions <= datagrams.lost);
        }
    }
}

#[test]
fn each_number_of_workers_is_a_scenario_and_all_are_shown_together() {
    let scenarios = format!("[{{name: push, parameterServing: {{mode: Push, {SHORT}, workers: [1, 3]}}}}]");
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[SAMPLING]));
    let output = RunningCommand::start(dir.run(&manifest)).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    for (scenario, workers) in [("push-1", 1), ("push-3", 3)] {
        assert_eq!(serving(&stored, scenario, "baseline").workers, workers);
    }
    assert!(output.stdout.contains("scaling  1 worker: "), "{output}");
    assert!(output.stdout.contains("; 3 workers: "), "{output}");
}

#[test]
fn directory_that_the_trainer_cannot_write_is_named() {
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
