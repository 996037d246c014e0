//! Tests that each operation transfers the correct bytes.

use super::harness::{Pair, PostRequest, Setup, open_pair, pattern, setups};
use crate::transport::{CompletionKind, Operation, PostError, Transport};
use crds::record::FailureReason;
use crds::v1alpha1::LibfabricProvider;
use std::time::{Duration, Instant};

const POSTED: CompletionKind = CompletionKind::Posted { token: 0 };

fn receive(pair: &mut Pair, offset: u64, length: u64, token: u32) {
    let target = &mut pair.target;
    target
        .transport
        .post_receive(0, &target.region, offset, length, token)
        .unwrap();
}

#[test]
fn send_transfers_bytes_and_immediate_data() {
    for setup in setups() {
        for length in [1, 64, 4096, 300_000] {
            let mut pair = setup.pair();
            pair.initiator.fill(0, &pattern(length, 1));
            receive(&mut pair, 0, 500_000, 5);
            let operation = Operation::Send {
                immediate: 0xdead_beef,
            };
            pair.post(PostRequest {
                token: 7,
                ..PostRequest::new(operation, length as u64)
            });
            let observed =
                pair.poll_until(|observed| !observed.initiator.is_empty() && !observed.target.is_empty());
            assert_eq!(
                observed.initiator,
                [CompletionKind::Posted { token: 7 }],
                "{setup:?}"
            );
            let immediate = Some(0xdead_beef);
            let arrived = CompletionKind::Received {
                token: 5,
                immediate,
                length: length as u64,
            };
            assert_eq!(observed.target, [arrived], "{setup:?}");
            assert_eq!(pair.target.bytes(0, length), pattern(length, 1), "{setup:?}");
        }
    }
}

#[test]
fn an_injected_send_buffer_is_reusable_on_return_without_a_completion() {
    for setup in setups() {
        let mut pair = setup.pair();
        receive(&mut pair, 0, 64, 0);
        pair.initiator.fill(0, &pattern(64, 2));
        pair.post(PostRequest {
            inject: true,
            ..PostRequest::new(Operation::Send { immediate: 9 }, 64)
        });
        pair.initiator.fill(0, &pattern(64, 3));
        let observed = pair.poll_until(|observed| !observed.target.is_empty());
        assert_eq!(
            observed.target,
            [CompletionKind::Received {
                token: 0,
                immediate: Some(9),
                length: 64
            }]
        );
        assert_eq!(pair.target.bytes(0, 64), pattern(64, 2), "{setup:?}");
        // If the injection had a completion, it would arrive before the completion of this write.
        let remote = pair.remote(0);
        pair.post(PostRequest {
            token: 3,
            ..PostRequest::new(
                Operation::Write {
                    remote,
                    remote_offset: 0,
                },
                64,
            )
        });
        let observed = pair.poll_until(|observed| !observed.initiator.is_empty());
        assert_eq!(
            observed.initiator,
            [CompletionKind::Posted { token: 3 }],
            "{setup:?}"
        );
    }
}

#[test]
fn write_completes_only_at_the_initiator() {
    for setup in setups() {
        for length in [8, 4096, 500_000] {
            let mut pair = setup.pair();
            pair.initiator.fill(128, &pattern(length, 4));
            let operation = Operation::Write {
                remote: pair.remote(0),
                remote_offset: 64,
            };
            pair.post(PostRequest {
                offset: 128,
                ..PostRequest::new(operation, length as u64)
            });
            let observed = pair.poll_until(|observed| !observed.initiator.is_empty());
            assert_eq!(
                (observed.initiator, observed.target.len()),
                (vec![POSTED], 0),
                "{setup:?}"
            );
            assert_eq!(
                pair.target.bytes(64, length),
                pattern(length, 4),
                "{setup:?} {length}"
            );
            assert_eq!(pair.target.bytes(0, 64), vec![0; 64], "{setup:?}");
        }
    }
}

#[test]
fn write_with_immediate_data_completes_at_the_target() {
    for setup in setups() {
        for inject in [false, true] {
            let mut pair = setup.pair();
            pair.initiator.fill(0, &pattern(48, 5));
            let operation = Operation::WriteImmediate {
                remote: pair.remote(0),
                remote_offset: 16,
                immediate: 77,
            };
            pair.post(PostRequest {
                inject,
                ..PostRequest::new(operation, 48)
            });
            let expected = usize::from(!inject);
            let observed = pair
                .poll_until(|observed| observed.initiator.len() >= expected && !observed.target.is_empty());
            assert_eq!(
                observed.target,
                [CompletionKind::RemoteWrite { immediate: 77 }],
                "{setup:?}"
            );
            assert_eq!(observed.initiator, vec![POSTED; expected], "{setup:?}");
            assert_eq!(pair.target.bytes(16, 48), pattern(48, 5), "{setup:?}");
        }
    }
}

#[test]
fn read_transfers_bytes_from_the_target() {
    for setup in setups() {
        for (length, more) in [(8, false), (100_000, false), (64, true)] {
            let mut pair = setup.pair();
            pair.target.fill(32, &pattern(length, 6));
            let operation = Operation::Read {
                remote: pair.remote(0),
                remote_offset: 32,
            };
            pair.post(PostRequest {
                more,
                ..PostRequest::new(operation, length as u64)
            });
            if more {
                pair.post(PostRequest {
                    token: 1,
                    offset: 4096,
                    ..PostRequest::new(operation, length as u64)
                });
            }
            let expected = 1 + usize::from(more);
            let observed = pair.poll_until(|observed| observed.initiator.len() == expected);
            assert!(observed.initiator.contains(&POSTED), "{setup:?}");
            assert_eq!(pair.initiator.bytes(0, length), pattern(length, 6), "{setup:?}");
        }
    }
}

#[test]
fn delivers_a_burst_of_writes_with_one_doorbell() {
    const BURST: u32 = 16;
    for setup in setups() {
        let mut pair = setup.pair();
        pair.initiator.fill(0, &pattern(BURST as usize * 256, 7));
        for token in 0..BURST {
            let at = u64::from(token) * 256;
            let (remote, immediate) = (pair.remote(0), u64::from(token));
            let operation = match token % 3 {
                0 => Operation::Write {
                    remote,
                    remote_offset: at,
                },
                _ => Operation::WriteImmediate {
                    remote,
                    remote_offset: at,
                    immediate,
                },
            };
            let more = token != BURST - 1;
            let post = PostRequest {
                offset: at,
                more,
                token,
                ..PostRequest::new(operation, 256)
            };
            pair.post(post);
        }
        let observed = pair
            .poll_until(|observed| observed.initiator.len() == BURST as usize && observed.target.len() == 10);
        let mut tokens: Vec<_> = observed
            .initiator
            .iter()
            .map(|kind| format!("{kind:?}"))
            .collect();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), BURST as usize, "{setup:?}: a token completed twice");
        assert_eq!(
            pair.target.bytes(0, BURST as usize * 256),
            pattern(BURST as usize * 256, 7),
            "{setup:?}"
        );
    }
}

#[test]
fn delivers_a_burst_of_sends_with_one_doorbell() {
    for setup in setups() {
        let mut pair = setup.pair();
        for token in 0..4 {
            receive(&mut pair, u64::from(token) * 64, 64, token);
            let operation = Operation::Send {
                immediate: u64::from(token),
            };
            pair.post(PostRequest {
                more: token != 3,
                token,
                ..PostRequest::new(operation, 64)
            });
        }
        let observed =
            pair.poll_until(|observed| observed.initiator.len() == 4 && observed.target.len() == 4);
        assert!(observed.target.contains(&CompletionKind::Received {
            token: 3,
            immediate: Some(3),
            length: 64
        }));
    }
}

#[test]
fn accepts_a_post_after_a_full_queue_drains() {
    for setup in setups() {
        let mut pair = setup.pair();
        let inject = PostRequest {
            inject: true,
            ..PostRequest::new(Operation::Send { immediate: 1 }, 64)
        };
        // The target has posted no receives, so its buffers fill up first, and then the initiator's queue.
        let mut accepted = 0_u32;
        let full = (0..2_000_000).any(|_| match pair.initiator.post(inject) {
            Ok(()) => {
                accepted += 1;
                false
            }
            Err(PostError::Again) => true,
            Err(other) => panic!("{setup:?}: {other:?}"),
        });
        assert!(full, "{setup:?}: the queue was not full after {accepted} posts");
        receive(&mut pair, 0, 64, 0);
        let mut is_full = true;
        pair.retry_until_some(|pair| {
            let arrived = pair.target.poll().unwrap();
            pair.initiator.poll().unwrap();
            if !arrived.is_empty() {
                receive(pair, 0, 64, 0);
            }
            is_full = is_full && pair.initiator.post(inject) == Err(PostError::Again);
            (!is_full).then_some(())
        });
    }
}

#[test]
fn opens_one_endpoint_per_rail_at_its_source_address() {
    for mut setup in setups() {
        if setup.provider != LibfabricProvider::Tcp {
            continue;
        }
        setup.rails = vec!["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"];
        let mut pair = setup.pair();
        let addresses: Vec<_> = pair
            .initiator
            .transport
            .facts()
            .rails
            .iter()
            .map(|r| r.address.clone())
            .collect();
        for (address, source) in addresses.iter().zip(&setup.rails) {
            assert!(address.starts_with(&format!("{source}:")), "{addresses:?}");
        }
        pair.initiator.fill(0, &pattern(4096, 9));
        for rail in 0..4 {
            let at = rail as u64 * 1024;
            let operation = Operation::Write {
                remote: pair.remote(rail),
                remote_offset: at,
            };
            pair.post(PostRequest {
                rail,
                offset: at,
                ..PostRequest::new(operation, 1024)
            });
        }
        let mut rails = Vec::new();
        pair.retry_until_some(|pair| {
            rails.extend(pair.poll().unwrap().iter().map(|(completion, _)| completion.rail));
            (rails.len() == 4).then_some(())
        });
        rails.sort_unstable();
        assert_eq!(rails, [0, 1, 2, 3], "{setup:?}");
        assert_eq!(pair.target.bytes(0, 4096), pattern(4096, 9), "{setup:?}");
    }
}

#[test]
fn wait_returns_when_a_message_arrives() {
    for setup in setups() {
        let mut config = setup.config();
        config.uses_wait = true;
        let mut pair = match open_pair(&config) {
            Ok(pair) => pair,
            Err(error) => {
                // shm has no file descriptor to wait on, and reports an error.
                assert_eq!(setup.provider, LibfabricProvider::Shm, "{error}");
                assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
                assert!(error.message.contains("use polling: Spin or Yield"), "{error}");
                continue;
            }
        };
        receive(&mut pair, 0, 64, 0);
        pair.post(PostRequest::new(Operation::Send { immediate: 1 }, 64));
        let start = Instant::now();
        let mut arrived = Vec::new();
        while arrived.is_empty() {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{setup:?}: no message arrived"
            );
            pair.initiator.poll().unwrap();
            pair.target.transport.wait(Duration::from_millis(200)).unwrap();
            arrived = pair.target.poll().unwrap();
        }
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(50) {
            pair.target.transport.wait(Duration::from_millis(50)).unwrap();
            assert!(pair.target.poll().unwrap().is_empty());
        }
    }
}

#[test]
fn records_facts_that_the_library_returned() {
    for setup in setups() {
        let pair = setup.pair();
        let facts = pair.initiator.transport.facts();
        let library = facts.library.as_ref().unwrap();
        let old = library.version.starts_with("1.17");
        let provider = match setup.provider {
            LibfabricProvider::Tcp if old => "net",
            other => other.name(),
        };
        assert_eq!(facts.provider, provider, "{facts:?}");
        assert!(
            facts.inject_limits.send_bytes >= 64 && facts.inject_limits.write_bytes >= 64,
            "{facts:?}"
        );
        assert!(
            facts.transmit_depth >= 64 && facts.max_message_bytes > 1 << 30,
            "{facts:?}"
        );
        assert!(["auto", "manual"].contains(&facts.progress.as_str()), "{facts:?}");
        let shm = setup.provider == LibfabricProvider::Shm;
        assert_eq!(
            facts.registration_mode,
            if shm { vec!["FI_MR_VIRT_ADDR"] } else { vec![] },
            "{facts:?}"
        );
        assert!(
            facts.fabric.len() > 1 && !facts.rails[0].domain.is_empty(),
            "{facts:?}"
        );
    }
}

/// Checks at compile time that a transport and its region can move to another thread.
const _: fn(Setup) = transport_and_region_are_send;

fn transport_and_region_are_send(setup: Setup) {
    fn assert_send<T: Send>(_: T) {}
    let side = setup.pair().initiator;
    assert_send(side.transport);
    assert_send(side.region);
}
