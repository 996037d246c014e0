//! Tests that transfer data between the first two RDMA devices of this machine. They are ignored unless requested,
//! because they need such devices: `make test-verbs` runs them in a virtual machine with soft-RoCE.

use crate::Verbs;
use crds::record::FailureReason;
use crds::v1alpha1::{TransportSpec, VerbsSignaling};
use runner::transport::conformance::{self, Subject};
use runner::transport::test_pair::{Pair, PostRequest, pattern};
use runner::transport::{CompletionKind, OpenConfig, Operation, PostError, Transport, TransportError};
use std::fs;
use std::time::{Duration, Instant};

const DEPTH: usize = 32;

runner::transport_conformance!(traffic Verbs, [subject()], #[ignore = "needs an RDMA device"]);

fn subject() -> Subject {
    let rails = OpenConfig {
        spec: TransportSpec::Verbs(crds::v1alpha1::Verbs::new(2)),
        rails: vec!["rxe0".to_owned(), "rxe1".to_owned()],
        ..config("rxe0")
    };
    Subject {
        rails: Some(rails),
        ..Subject::new(config("rxe0"))
    }
}

fn config(device: &str) -> OpenConfig {
    OpenConfig {
        rails: vec![device.to_owned()],
        inject_bytes: Some(128),
        depth: DEPTH,
        counts_protocols: true,
        ..conformance::config(TransportSpec::Verbs(crds::v1alpha1::Verbs::new(1)))
    }
}

fn with_signaling(signaling: VerbsSignaling) -> OpenConfig {
    OpenConfig {
        spec: TransportSpec::Verbs(crds::v1alpha1::Verbs { rails: 1, signaling }),
        ..config("rxe0")
    }
}

fn pair(config: &OpenConfig) -> Pair<Verbs> {
    Pair::open(config, None).unwrap()
}

/// Number of write system calls that this process has made. On soft-RoCE, each doorbell is one such call
/// (`ibv_cmd_post_send`).
fn write_calls() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("syscw: "));
    line.unwrap().parse().unwrap()
}

fn write(pair: &Pair<Verbs>, token: u32, more: bool) -> PostRequest {
    PostRequest {
        token,
        more,
        ..PostRequest::new(
            Operation::Write {
                remote: pair.remote(0),
                remote_offset: 0,
            },
            64,
        )
    }
}

#[test]
#[ignore = "needs an RDMA device"]
fn an_injected_post_buffer_is_reusable_on_return_without_a_completion() {
    let mut pair = pair(&config("rxe0"));
    assert!(pair.initiator.transport.facts().inject_limits.write_bytes >= 128);
    let (count, length) = (20 * DEPTH, 64);
    let mut arrived = 0;
    for number in 0..count {
        let bytes = pattern(length, number as u8);
        pair.initiator.fill(0, &bytes);
        let operation = Operation::WriteImmediate {
            remote: pair.remote(0),
            remote_offset: (number * length) as u64,
            immediate: number as u64,
        };
        pair.post(PostRequest {
            inject: true,
            ..PostRequest::new(operation, length as u64)
        });
        pair.initiator.fill(0, &[0xff; 64]);
        for (completion, at_initiator) in pair.poll().unwrap() {
            assert!(!at_initiator, "{completion:?}");
            arrived += 1;
        }
    }
    if arrived < count {
        let observed = pair.poll_until(|observed| observed.target.len() >= count - arrived);
        assert_eq!(observed.initiator, []);
    }
    for number in 0..count {
        assert_eq!(
            pair.target.bytes(number * length, length),
            pattern(length, number as u8),
            "{number}"
        );
    }
}

#[test]
#[ignore = "needs an RDMA device"]
fn a_chain_is_passed_to_the_driver_in_one_call() {
    for (signaling, completions) in [
        (VerbsSignaling::EveryPost, 16),
        (VerbsSignaling::EveryDoorbell, 1),
    ] {
        let mut pair = pair(&with_signaling(signaling));
        let posts = 16;
        let before = write_calls();
        for token in 0..posts {
            let request = write(&pair, token, token + 1 < posts);
            pair.initiator.post(request).unwrap();
        }
        assert_eq!(write_calls() - before, 1, "{signaling:?}");
        let observed = pair.poll_until(|observed| observed.initiator.len() == posts as usize);
        let tokens = (0..posts).map(|token| CompletionKind::Posted { token });
        assert_eq!(observed.initiator, tokens.collect::<Vec<_>>(), "{signaling:?}");
        let before = write_calls();
        for token in 0..posts {
            let request = write(&pair, token, false);
            pair.initiator.post(request).unwrap();
        }
        assert_eq!(write_calls() - before, u64::from(posts), "{signaling:?}");
        pair.poll_until(|observed| observed.initiator.len() == posts as usize);
        let reported = pair.initiator.transport.close();
        let count = |description: &str| {
            let found = reported
                .iter()
                .find(|protocol| protocol.description.contains(description));
            found.map_or(0, |protocol| protocol.count)
        };
        assert_eq!(
            (count("calls"), count("work requests")),
            (1 + u64::from(posts), 32)
        );
        assert_eq!(
            count("IBV_SEND_SIGNALED"),
            completions + u64::from(posts),
            "{signaling:?}"
        );
    }
}

#[test]
#[ignore = "needs an RDMA device"]
fn a_full_queue_rings_the_doorbell_and_returns_again() {
    let mut pair = pair(&config("rxe0"));
    let mut accepted = 0_u32;
    let full = loop {
        let request = write(&pair, accepted % DEPTH as u32, true);
        match pair.initiator.post(request) {
            Ok(()) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted < 10 * DEPTH as u32, "the queue is never full");
    };
    assert_eq!(full, PostError::Again);
    pair.poll_until(|observed| observed.initiator.len() == accepted as usize);
}

#[test]
#[ignore = "needs an RDMA device"]
fn delivers_more_immediates_than_receives() {
    let mut pair = pair(&config("rxe0"));
    let count = 4 * DEPTH;
    let mut early = 0;
    for number in 0..count {
        let operation = Operation::WriteImmediate {
            remote: pair.remote(0),
            remote_offset: 0,
            immediate: number as u64,
        };
        // The target does not poll, and therefore does not repost receives, until the initiator's queue is full.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let request = PostRequest {
                token: (number % DEPTH) as u32,
                ..PostRequest::new(operation, 8)
            };
            match pair.initiator.post(request) {
                Ok(()) => break,
                Err(PostError::Again) => {
                    pair.initiator.poll().unwrap();
                    early += pair.target.poll().unwrap().len();
                }
                Err(other) => panic!("{other:?}"),
            }
            assert!(Instant::now() < deadline, "the queue is still full");
        }
    }
    pair.poll_until(|observed| early + observed.target.len() == count);
}

#[test]
#[ignore = "needs an RDMA device"]
fn waits_for_a_completion() {
    let mut pair = pair(&OpenConfig {
        uses_wait: true,
        ..config("rxe0")
    });
    let timeout = Duration::from_millis(50);
    let started = Instant::now();
    pair.initiator.transport.wait(timeout).unwrap();
    assert!(started.elapsed() >= timeout);
    let request = write(&pair, 0, false);
    pair.initiator.post(request).unwrap();
    let started = Instant::now();
    pair.initiator.transport.wait(Duration::from_secs(20)).unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(pair.initiator.poll().unwrap().len(), 1);
}

#[test]
#[ignore = "needs an RDMA device"]
fn rejects_posts_that_the_library_would_execute_differently() {
    let mut pair = pair(&config("rxe0"));
    let refused = |pair: &mut Pair<Verbs>, request| {
        assert!(
            matches!(pair.initiator.post(request), Err(PostError::Refused(_))),
            "the post was accepted"
        );
    };
    let send = Operation::Send { immediate: 1 };
    let inline = PostRequest {
        inject: true,
        ..PostRequest::new(send, 64)
    };
    refused(&mut pair, PostRequest { more: true, ..inline });
    refused(
        &mut pair,
        PostRequest {
            length: 4096,
            ..inline
        },
    );
    let request = PostRequest {
        inject: true,
        ..write(&pair, 0, false)
    };
    refused(&mut pair, request);
    refused(&mut pair, PostRequest::new(send, 2 << 20));
}

#[test]
#[ignore = "needs an RDMA device"]
fn a_write_with_a_wrong_remote_key_fails() {
    let mut pair = pair(&config("rxe0"));
    let mut remote = pair.remote(0);
    remote.key ^= 0xff;
    let operation = Operation::Write {
        remote,
        remote_offset: 0,
    };
    pair.initiator.post(PostRequest::new(operation, 64)).unwrap();
    let error = pair.retry_until_some(|pair| pair.initiator.poll().err());
    assert_eq!(error.reason, FailureReason::CompletionFailed);
    assert!(error.message.contains("remote access error"), "{error}");
}

#[test]
#[ignore = "needs an RDMA device"]
fn reports_missing_devices_by_name() {
    let open = |config: OpenConfig| -> TransportError { Verbs::open(&config).err().unwrap() };
    let unknown = open(config("mlx5_9"));
    assert_eq!(unknown.reason, FailureReason::NoDevice);
    assert!(
        unknown.message.contains("rxe0, rxe1") || unknown.message.contains("rxe1, rxe0"),
        "{unknown}"
    );
    let address = open(config("192.0.2.1"));
    assert!(
        address
            .message
            .contains("no RDMA device has the address 192.0.2.1"),
        "{address}"
    );
    let rails = open(OpenConfig {
        spec: TransportSpec::Verbs(crds::v1alpha1::Verbs::new(3)),
        rails: Vec::new(),
        ..config("rxe0")
    });
    assert!(rails.message.contains("3 rails requested, but only 2"), "{rails}");
}

#[test]
#[ignore = "needs an RDMA device"]
fn opens_the_device_with_the_given_address() {
    let transport = Verbs::open(&config("10.0.0.2")).unwrap();
    let facts = transport.facts();
    assert_eq!(facts.rails[0].domain, "rxe1");
    assert_eq!(facts.library.as_ref().unwrap().name, "libibverbs");
}
