//! Campaigns during other work: traffic over the loopback interface, and busy CPUs.

use crds::quantity::Quantity;
use crds::v1alpha1::{BenchmarkRunStatus, FabricProof, Verdict, WithheldReason};

use super::harness::{RunningCommand, TestDir};
use super::manifest::{NAME, TCP, run};
use super::network_namespace::during;
use super::stored_run::StoredRun;

const TWO: &str = "[{name: baseline}, {name: other, inject: {maxBytes: 64}}]";
const SCENARIOS: &str = "[{name: small, pingPong: {sizes: [64, 64Ki], iterations: 100}}]";

/// Sends 64 KiB about every millisecond over the loopback interface, which is many times the payload of small messages.
const TRAFFIC: &str = "python3 -c 'import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind((\"127.0.0.1\", 0))
while True:
    out.sendto(bytes(60000), sink.getsockname())
    time.sleep(0.0005)'";

/// Uses all CPUs with twice as many processes as CPUs.
const BUSY: &str = "python3 -c 'import os
for _ in range(2 * os.cpu_count() - 1):
    parent = os.getpid()
    if not os.fork():
        while os.getppid() == parent:
            pass
        os._exit(0)
while True:
    pass'";

/// Runs a campaign during `other` and returns its status.
fn status_during(other: Option<&str>, sampling: &str) -> BenchmarkRunStatus {
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(TWO, TCP, SCENARIOS, &[sampling]));
    let command = dir.run(&manifest);
    match other {
        Some(other) => RunningCommand::start_among_others(during(other, &command)).wait(),
        None => RunningCommand::start(command).wait(),
    };
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    stored.status().clone()
}

#[test]
fn a_busy_interface_is_shared_and_the_factor_is_stated() {
    let status = status_during(
        Some(TRAFFIC),
        "sampling: {rounds: 2, control: false, sharedInterface: Withhold}",
    );
    let fabric = status.fabric.as_ref().unwrap();
    assert_eq!(fabric.proof, FabricProof::Shared, "{fabric:?}");
    assert!(
        fabric.reason.contains(" times the payload of ") && fabric.reason.contains("other traffic"),
        "{fabric:?}"
    );
    assert!(fabric.foreign_bytes.unwrap() > 1_000_000, "{fabric:?}");
    let small = status.results.iter().filter(|result| result.size_bytes == 64);
    for result in small {
        assert_eq!(result.fabric, Some(FabricProof::Shared), "{result:?}");
        assert!(
            result.value(Quantity::DisturbanceForeignBytes) > Some(0),
            "{result:?}"
        );
    }
    for comparison in status.comparisons.iter().filter(|one| one.size_bytes == 64) {
        assert_eq!(
            (comparison.verdict, comparison.withheld),
            (None, Some(WithheldReason::InterfaceShared)),
            "{comparison:?}"
        );
    }
    assert!(
        status
            .warnings
            .iter()
            .any(|text| text.contains("carried other traffic")),
        "{:?}",
        status.warnings
    );
}

#[test]
fn a_shared_interface_of_a_local_run_keeps_its_verdicts() {
    let status = status_during(Some(TRAFFIC), "sampling: {rounds: 2, control: false}");
    assert_eq!(status.fabric.unwrap().proof, FabricProof::Shared);
    let small = status.comparisons.iter().filter(|one| one.size_bytes == 64);
    let verdicts: Vec<Option<Verdict>> = small.map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Some(Verdict::Inconclusive)]);
}

#[test]
fn busy_cpus_are_reported() {
    let status = status_during(Some(BUSY), "sampling: {rounds: 3, control: false}");
    for (quantity, least) in [
        (Quantity::DisturbanceRunQueuePpm, 10_000),
        (Quantity::DisturbanceForeignCpuPpm, 50_000),
    ] {
        let shares: Vec<_> = status
            .results
            .iter()
            .map(|result| result.value(quantity))
            .collect();
        println!("{quantity}: {shares:?}");
        assert!(
            shares.iter().any(|share| *share > Some(least)),
            "{quantity}: {shares:?}"
        );
    }
    for expected in ["waited for a CPU", "other processes used"] {
        assert!(
            status.warnings.iter().any(|text| text.contains(expected)),
            "{:?}",
            status.warnings
        );
    }
}

#[test]
fn headers_of_any_size_of_message_are_not_other_traffic() {
    let dir = TestDir::new();
    let scenarios = "[{name: pings, pingPong: {sizes: [1, 64, 4Ki, 64Ki, 1Mi], iterations: 50}}, \
                     {name: sends, transfer: {sizes: [1, 4Ki, 1Mi, 16Mi], operation: Send, iterations: 20}}, \
                     {name: one, transfer: {sizes: [1], operation: Send, window: 1, iterations: 200}}, \
                     {name: writes, transfer: {sizes: [1, 64Ki, 16Mi], operation: Write, iterations: 20}}, \
                     {name: reads, transfer: {sizes: [1, 64Ki, 1Mi], operation: Read, iterations: 20}}, \
                     {name: both, transfer: {sizes: [1, 64Ki], operation: Send, direction: Bidirectional, iterations: 50}}]";
    let ucx = "[{name: baseline}, {name: ucx, transport: {ucx: {transports: [tcp], emulation: Allow}}}]";
    let manifest = dir.manifest(&run(
        ucx,
        TCP,
        scenarios,
        &["sampling: {rounds: 1, control: false}"],
    ));
    RunningCommand::start(dir.run(&manifest)).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    for result in &stored.status().results {
        assert_eq!(result.fabric, Some(FabricProof::Verified), "{result:?}");
        assert_eq!(
            result.value(Quantity::DisturbanceForeignBytes),
            Some(0),
            "{result:?}"
        );
    }
    // Each reading of the loopback interface counts packets.
    assert!(stored.status().results.len() > 20);
}
