//! Tests that a lost peer is reported.

use super::harness::{LENGTH, PostRequest, tcp};
use crate::memory::Memory;
use crate::transport::conformance::DEPTH;
use crate::transport::ucx::Ucx;
use crate::transport::{
    Completion, CompletionKind, EndpointAddresses, Operation, Post, PostError, Region, RemoteRegion,
    Transport, failed_post_reason,
};
use crds::record::FailureReason;
use crds::v1alpha1::MemoryKind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn reports_a_closed_peer_as_lost() {
    for operation in [0, 1, 2] {
        let mut pair = tcp().pair();
        let remote = pair.remote(0);
        let operation = match operation {
            0 => Operation::Write {
                remote,
                remote_offset: 0,
            },
            1 => Operation::Read {
                remote,
                remote_offset: 0,
            },
            _ => Operation::Send { immediate: 1 },
        };
        let target = &mut pair.target;
        target
            .transport
            .post_receive(0, &target.region, 0, 64, 0)
            .unwrap();
        pair.post(PostRequest::new(operation, 64));
        pair.poll_until(|observed| observed.initiator.len() == 1);
        let super::harness::Pair {
            mut initiator,
            target,
            ..
        } = pair;
        drop(target);
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut token = 0;
        let reason = loop {
            assert!(
                Instant::now() < deadline,
                "{operation:?}: the loss was not detected"
            );
            token = (token + 1) % DEPTH as u32;
            match initiator.post(PostRequest {
                token,
                ..PostRequest::new(operation, 64)
            }) {
                Ok(()) | Err(PostError::Again | PostError::Refused(libc::EBUSY)) => {}
                Err(PostError::Failed(errno)) => break failed_post_reason(errno),
                Err(other) => panic!("{operation:?}: {other:?}"),
            }
            if let Err(error) = initiator.poll() {
                println!("{operation:?}: {error}");
                break error.reason;
            }
            std::thread::yield_now();
        };
        assert_eq!(reason, FailureReason::PeerLost, "{operation:?}");
    }
}

/// Variable that contains the path of the socket over which a test communicates with its target process.
const SOCKET: &str = "FABRICBENCH_TEST_UCX_SOCKET";

/// Target process: connects to the initiator, and polls until it is killed. Does nothing unless a test started it.
#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn target_process() {
    let Some(path) = std::env::var_os(SOCKET) else {
        return;
    };
    let mut stream = BufReader::new(UnixStream::connect(path).unwrap());
    let mut transport = Ucx::open(&tcp().config()).unwrap();
    let memory = Memory::allocate(MemoryKind::Heap, LENGTH).unwrap();
    let region = transport.register(memory).unwrap();
    let peer: EndpointAddresses = exchange(&mut stream, transport.addresses());
    let _region: RemoteRegion = exchange(&mut stream, &region.remote());
    transport.connect(&peer).unwrap();
    for token in 0..32 {
        transport
            .post_receive(0, &region, 0, LENGTH as u64, token)
            .unwrap();
    }
    let mut completions = [Completion {
        rail: 0,
        kind: CompletionKind::Posted { token: 0 },
    }; 16];
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let _ = transport.poll(&mut completions);
    }
}

/// Sends `value` as a line, and returns the value that the other process sends.
fn exchange<S: Serialize, T: DeserializeOwned>(stream: &mut BufReader<UnixStream>, value: &S) -> T {
    let line = serde_json::to_string(value).unwrap() + "\n";
    stream.get_mut().write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn operations_to_a_killed_peer_fail() {
    for kind in ["write", "read", "send", "flush"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "transport::ucx::tests::peers::target_process",
            ])
            .env(SOCKET, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let mut transport = Ucx::open(&tcp().config()).unwrap();
        let memory = Memory::allocate(MemoryKind::Heap, LENGTH).unwrap();
        let region = transport.register(memory).unwrap();
        let address: EndpointAddresses = exchange(&mut stream, transport.addresses());
        let remote: RemoteRegion = exchange(&mut stream, &region.remote());
        let peer = transport.connect(&address).unwrap();
        let remote = transport.import(peer, &remote).unwrap()[0];
        let operation = match kind {
            "write" | "flush" => Operation::Write {
                remote,
                remote_offset: 0,
            },
            "read" => Operation::Read {
                remote,
                remote_offset: 0,
            },
            _ => Operation::Send { immediate: 1 },
        };
        let mut completed = 0;
        let killed = Instant::now() + Duration::from_millis(200);
        let deadline = killed + Duration::from_secs(20);
        let mut token = 0;
        let reason = loop {
            let now = Instant::now();
            assert!(now < deadline, "{kind}: the loss was not detected");
            if now >= killed {
                child.kill().unwrap();
            }
            token = (token + 1) % 16;
            let post = Post {
                rail: 0,
                peer,
                operation,
                region: &region,
                offset: 0,
                length: 64 * 1024,
                inject: false,
                more: false,
                token,
            };
            let posted = transport.post(&post).and_then(|()| match kind {
                "flush" => transport.post_flush(peer),
                _ => Ok(()),
            });
            match posted {
                Ok(()) | Err(PostError::Again | PostError::Refused(libc::EBUSY)) => {}
                Err(PostError::Failed(errno)) => {
                    println!("{kind}: errno {errno}");
                    break failed_post_reason(errno);
                }
                Err(other) => panic!("{kind}: {other:?}"),
            }
            let mut completions = [Completion {
                rail: 0,
                kind: CompletionKind::Posted { token: 0 },
            }; 16];
            match transport.poll(&mut completions) {
                Ok(count) => completed += count,
                Err(error) => {
                    println!("{kind}: {error}");
                    break error.reason;
                }
            }
        };
        child.wait().unwrap();
        assert!(
            completed > 0,
            "{kind}: nothing completed before the peer was killed"
        );
        assert_eq!(reason, FailureReason::PeerLost, "{kind}");
    }
}
