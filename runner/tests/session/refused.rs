//! What is refused, with its reason.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use crds::assignment::Assignment;
use crds::record::{FailureReason, WarningReason};
use crds::v1alpha1::{LibfabricProvider, MemoryKind, TransportSpec, Verbs};

use super::gang::{Finished, Gang};
use super::plan::{assignment, libfabric, loopback};

fn run(assignment: &Assignment, variables: &[(&str, &str)]) -> Finished {
    Gang::start(assignment, 0..assignment.workers, variables).finish()
}

/// Every case fails for `reason`, every block counts, and the attempt is complete: nothing is tried again.
fn all_fail(finished: &Finished, reason: FailureReason) {
    assert!(finished.end().complete, "{:?}", finished.end());
    assert_eq!(finished.failures().len(), finished.cases().len());
    for (_, failure) in finished.failures() {
        assert_eq!(failure.reason, reason, "{}", failure.message);
    }
}

#[test]
fn a_provider_without_a_device() {
    let assignment = assignment(2, libfabric(LibfabricProvider::Efa), 1);
    all_fail(&run(&assignment, &[]), FailureReason::NoDevice);
}

#[test]
fn a_transport_that_is_not_compiled_in() {
    let assignment = assignment(2, TransportSpec::Verbs(Verbs { rails: 1 }), 1);
    all_fail(&run(&assignment, &[]), FailureReason::NotCompiled);
}

#[test]
fn a_library_that_is_not_where_the_variant_says() {
    let mut assignment = assignment(2, libfabric(LibfabricProvider::Tcp), 1);
    assignment.processes[0].library = Some("/nowhere/lib".into());
    let finished = run(&assignment, &[]);
    all_fail(&finished, FailureReason::LibraryNotFound);
    assert!(finished.failures()[0].1.message.contains("/nowhere/lib"));
}

#[test]
fn memory_that_cannot_be_had_fails_its_scenario_only() {
    let mut assignment = assignment(2, loopback(), 1);
    assignment.scenarios[0].memory = MemoryKind::Cuda;
    let finished = run(&assignment, &[]);
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
fn an_image_that_says_it_is_another_variant() {
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
fn strangers_have_no_part_in_the_attempt() {
    let assignment = assignment(2, loopback(), 1);
    let mut gang = Gang::start(&assignment, [0].into_iter(), &[]);
    let port = assignment.rendezvous.port;
    let stranger = thread::spawn(move || {
        let mut stream = loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                break stream;
            }
        };
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    });
    assert!(stranger.join().unwrap().contains("Garbage"));
    gang.come(1);
    let finished = gang.finish();
    assert!(finished.end().complete, "{:?}", finished.end());
    let refused = finished.warnings(WarningReason::UnknownPeerRefused);
    assert!(
        matches!(refused[..], [message] if message.contains("1 Garbage")),
        "{refused:?}"
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
fn a_wrong_assignment_names_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_string_lossy().into_owned()
    };
    let mut wrong = assignment(2, loopback(), 1);
    wrong.arms[0].process = 5;
    let wrong = written("wrong.json", &serde_json::to_string(&wrong).unwrap());
    let good = written(
        "good.json",
        &serde_json::to_string(&assignment(2, loopback(), 1)).unwrap(),
    );
    let long = written("long.json", &" ".repeat(2 * 1024 * 1024));
    let absent = Path::new("/nowhere/assignment.json")
        .to_string_lossy()
        .into_owned();
    for (file, rank, message) in [
        (&wrong, "0", "assignment.arms[].process: is no process"),
        (&good, "2", "rank 2 does not exist"),
        (&long, "0", "more than 1048576"),
        (&absent, "0", "/nowhere/assignment.json"),
    ] {
        let output = worker(&["--assignment", file, "--rank", rank]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(worker(&["--assignment", &good]).status.code(), Some(2), "no rank");
}

#[test]
fn an_instrument_without_a_worker_says_so() {
    let output = Command::new(env!("CARGO_BIN_EXE_fabricbench-runner"))
        .args(["instrument", "--parent", "1"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("is started by `fabricbench-runner worker`")
    );
}
