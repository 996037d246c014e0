//! Tests of configurations and connections that are rejected with a reason.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use crds::assignment::Assignment;
use crds::record::{FailureReason, WarningReason};
use crds::v1alpha1::{LibfabricProvider, MemoryKind, TransportSpec, Verbs};
use fabricbench_runner::topology::{Device, DeviceClass, SystemRoots};

use super::gang::{FinishedAttempt, Gang};
use super::plan::{assignment, libfabric, loopback};

fn run(assignment: &Assignment, variables: &[(&str, &str)]) -> FinishedAttempt {
    Gang::start(assignment, 0..assignment.workers, variables).finish()
}

/// Asserts that every case failed with `reason` and that the attempt is complete and is therefore not retried.
fn assert_all_failed(finished: &FinishedAttempt, reason: FailureReason) {
    assert!(finished.end().complete, "{:?}", finished.end());
    assert_eq!(finished.failures().len(), finished.cases().len());
    for (_, failure) in finished.failures() {
        assert_eq!(failure.reason, reason, "{}", failure.message);
    }
}

#[test]
fn reports_a_provider_without_a_device() {
    let devices = Device::all(DeviceClass::Rdma, &SystemRoots::default());
    if devices
        .iter()
        .any(|device| device.driver.as_deref() == Some("efa"))
    {
        println!("skipped reports_a_provider_without_a_device: this machine has an EFA device");
        return;
    }
    let assignment = assignment(2, libfabric(LibfabricProvider::Efa), 1);
    assert_all_failed(&run(&assignment, &[]), FailureReason::NoDevice);
}

#[test]
fn reports_a_transport_that_is_not_compiled_in() {
    let assignment = assignment(2, TransportSpec::Verbs(Verbs::new(1)), 1);
    assert_all_failed(&run(&assignment, &[]), FailureReason::TransportNotCompiled);
}

#[test]
fn reports_a_missing_library() {
    let mut assignment = assignment(2, libfabric(LibfabricProvider::Tcp), 1);
    assignment.processes[0].library = Some("/nowhere/lib".into());
    let finished = run(&assignment, &[]);
    assert_all_failed(&finished, FailureReason::LibraryNotFound);
    assert!(finished.failures()[0].1.message.contains("/nowhere/lib"));
}

#[test]
fn unavailable_memory_fails_only_its_scenario() {
    let mut assignment = assignment(2, loopback(), 1);
    assignment.scenarios[0].memory = MemoryKind::Cuda;
    // Hides the GPUs of this machine from the CUDA driver.
    let finished = run(&assignment, &[("CUDA_VISIBLE_DEVICES", "")]);
    assert!(finished.end().complete);
    assert_eq!(finished.failures().len(), finished.cases().len() / 2);
    for (case, failure) in finished.failures() {
        assert_eq!(
            (case.scenario.as_str(), failure.reason),
            ("small", FailureReason::MemoryUnavailable)
        );
    }
}

#[test]
fn rejects_an_image_for_another_variant() {
    let finished = run(
        &assignment(2, loopback(), 1),
        &[("FABRICBENCH_VARIANT", "fi-inject")],
    );
    assert!(finished.end().complete);
    for (case, failure) in finished.failures() {
        assert_eq!(
            (case.arm.as_str(), failure.reason),
            ("baseline", FailureReason::VariantMismatch)
        );
    }
    assert_eq!(finished.failures().len(), finished.cases().len() / 2);
}

#[test]
fn rejects_unknown_peers_and_completes() {
    let assignment = assignment(2, loopback(), 1);
    let mut gang = Gang::start(&assignment, [0].into_iter(), &[]);
    let port = assignment.rendezvous.port;
    let unknown_peer = thread::spawn(move || {
        let mut stream = loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                break stream;
            }
        };
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut response = String::new();
        let _ = stream.read_to_string(&mut response);
        response
    });
    assert!(unknown_peer.join().unwrap().contains("Garbage"));
    gang.start_worker(1, &[]);
    let finished = gang.finish();
    assert!(finished.end().complete, "{:?}", finished.end());
    let rejections = finished.warnings(WarningReason::UnknownPeerRefused);
    assert!(
        matches!(rejections[..], [message] if message.contains("1 Garbage")),
        "{rejections:?}"
    );
    assert_eq!(finished.failures(), Vec::new());
}

fn worker(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fabricbench-runner"))
        .arg("worker")
        .args(arguments)
        .env_remove("JOB_COMPLETION_INDEX")
        .output()
        .unwrap()
}

#[test]
fn reports_the_error_in_an_invalid_assignment() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_string_lossy().into_owned()
    };
    let mut invalid = assignment(2, loopback(), 1);
    invalid.arms[0].process = 5;
    let invalid = write("invalid.json", &serde_json::to_string(&invalid).unwrap());
    let valid = write(
        "valid.json",
        &serde_json::to_string(&assignment(2, loopback(), 1)).unwrap(),
    );
    let long = write("long.json", &" ".repeat(2 * 1024 * 1024));
    let absent = Path::new("/nowhere/assignment.json")
        .to_string_lossy()
        .into_owned();
    for (file, rank, message) in [
        (
            &invalid,
            "0",
            "assignment.arms[].process: is not a valid process index",
        ),
        (&valid, "2", "rank 2 does not exist"),
        (&long, "0", "the maximum is 1048576"),
        (&absent, "0", "/nowhere/assignment.json"),
    ] {
        let output = worker(&["--assignment", file, "--rank", rank]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(
        worker(&["--assignment", &valid]).status.code(),
        Some(2),
        "the rank is missing"
    );
}

#[test]
fn an_instrument_refuses_to_start_without_a_worker() {
    let output = Command::new(env!("CARGO_BIN_EXE_fabricbench-runner"))
        .args(["instrument", "--parent", "1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("must be started by `fabricbench-runner worker`")
    );
}
