//! Each operation, with the bytes looked at.

use super::harness::{Ground, Pair, Wish, grounds, pattern};
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
fn a_send_carries_its_bytes_and_its_immediate_data() {
    for ground in grounds() {
        for length in [1, 64, 4096, 300_000] {
            let mut pair = ground.pair();
            pair.initiator.fill(0, &pattern(length, 1));
            receive(&mut pair, 0, 500_000, 5);
            let operation = Operation::Send {
                immediate: 0xdead_beef,
            };
            pair.post(Wish {
                token: 7,
                ..Wish::new(operation, length as u64)
            });
            let seen = pair.until(|seen| !seen.initiator.is_empty() && !seen.target.is_empty());
            assert_eq!(
                seen.initiator,
                [CompletionKind::Posted { token: 7 }],
                "{ground:?}"
            );
            let immediate = Some(0xdead_beef);
            let arrived = CompletionKind::Received {
                token: 5,
                immediate,
                length: length as u64,
            };
            assert_eq!(seen.target, [arrived], "{ground:?}");
            assert_eq!(pair.target.bytes(0, length), pattern(length, 1), "{ground:?}");
        }
    }
}

#[test]
fn an_injected_send_frees_its_memory_at_once_and_completes_without_a_sign() {
    for ground in grounds() {
        let mut pair = ground.pair();
        receive(&mut pair, 0, 64, 0);
        pair.initiator.fill(0, &pattern(64, 2));
        pair.post(Wish {
            inject: true,
            ..Wish::new(Operation::Send { immediate: 9 }, 64)
        });
        pair.initiator.fill(0, &pattern(64, 3));
        let seen = pair.until(|seen| !seen.target.is_empty());
        assert_eq!(
            seen.target,
            [CompletionKind::Received {
                token: 0,
                immediate: Some(9),
                length: 64
            }]
        );
        assert_eq!(pair.target.bytes(0, 64), pattern(64, 2), "{ground:?}");
        // A completion of the injection would come before that of what follows it.
        let remote = pair.remote(0);
        pair.post(Wish {
            token: 3,
            ..Wish::new(
                Operation::Write {
                    remote,
                    remote_offset: 0,
                },
                64,
            )
        });
        let seen = pair.until(|seen| !seen.initiator.is_empty());
        assert_eq!(
            seen.initiator,
            [CompletionKind::Posted { token: 3 }],
            "{ground:?}"
        );
    }
}

#[test]
fn a_completed_write_is_in_the_targets_memory_and_says_nothing_there() {
    for ground in grounds() {
        for length in [8, 4096, 500_000] {
            let mut pair = ground.pair();
            pair.initiator.fill(128, &pattern(length, 4));
            let operation = Operation::Write {
                remote: pair.remote(0),
                remote_offset: 64,
            };
            pair.post(Wish {
                offset: 128,
                ..Wish::new(operation, length as u64)
            });
            let seen = pair.until(|seen| !seen.initiator.is_empty());
            assert_eq!(
                (seen.initiator, seen.target.len()),
                (vec![POSTED], 0),
                "{ground:?}"
            );
            assert_eq!(
                pair.target.bytes(64, length),
                pattern(length, 4),
                "{ground:?} {length}"
            );
            assert_eq!(pair.target.bytes(0, 64), vec![0; 64], "{ground:?}");
        }
    }
}

#[test]
fn a_write_with_immediate_data_is_seen_at_the_target() {
    for ground in grounds() {
        for inject in [false, true] {
            let mut pair = ground.pair();
            pair.initiator.fill(0, &pattern(48, 5));
            let operation = Operation::WriteImmediate {
                remote: pair.remote(0),
                remote_offset: 16,
                immediate: 77,
            };
            pair.post(Wish {
                inject,
                ..Wish::new(operation, 48)
            });
            let wanted = usize::from(!inject);
            let seen = pair.until(|seen| seen.initiator.len() >= wanted && !seen.target.is_empty());
            assert_eq!(
                seen.target,
                [CompletionKind::RemoteWrite { immediate: 77 }],
                "{ground:?}"
            );
            assert_eq!(seen.initiator, vec![POSTED; wanted], "{ground:?}");
            assert_eq!(pair.target.bytes(16, 48), pattern(48, 5), "{ground:?}");
        }
    }
}

#[test]
fn a_read_brings_the_targets_bytes() {
    for ground in grounds() {
        for (length, more) in [(8, false), (100_000, false), (64, true)] {
            let mut pair = ground.pair();
            pair.target.fill(32, &pattern(length, 6));
            let operation = Operation::Read {
                remote: pair.remote(0),
                remote_offset: 32,
            };
            pair.post(Wish {
                more,
                ..Wish::new(operation, length as u64)
            });
            if more {
                pair.post(Wish {
                    token: 1,
                    offset: 4096,
                    ..Wish::new(operation, length as u64)
                });
            }
            let wanted = 1 + usize::from(more);
            let seen = pair.until(|seen| seen.initiator.len() == wanted);
            assert!(seen.initiator.contains(&POSTED), "{ground:?}");
            assert_eq!(pair.initiator.bytes(0, length), pattern(length, 6), "{ground:?}");
        }
    }
}

#[test]
fn a_burst_under_one_doorbell_arrives_whole() {
    const BURST: u32 = 16;
    for ground in grounds() {
        let mut pair = ground.pair();
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
            let post = Wish {
                offset: at,
                more,
                token,
                ..Wish::new(operation, 256)
            };
            pair.post(post);
        }
        let seen = pair.until(|seen| seen.initiator.len() == BURST as usize && seen.target.len() == 10);
        let mut tokens: Vec<_> = seen.initiator.iter().map(|kind| format!("{kind:?}")).collect();
        tokens.sort();
        tokens.dedup();
        assert_eq!(
            tokens.len(),
            BURST as usize,
            "{ground:?}: a token came back twice"
        );
        assert_eq!(
            pair.target.bytes(0, BURST as usize * 256),
            pattern(BURST as usize * 256, 7),
            "{ground:?}"
        );
    }
}

#[test]
fn sends_under_one_doorbell_arrive_whole() {
    for ground in grounds() {
        let mut pair = ground.pair();
        for token in 0..4 {
            receive(&mut pair, u64::from(token) * 64, 64, token);
            let operation = Operation::Send {
                immediate: u64::from(token),
            };
            pair.post(Wish {
                more: token != 3,
                token,
                ..Wish::new(operation, 64)
            });
        }
        let seen = pair.until(|seen| seen.initiator.len() == 4 && seen.target.len() == 4);
        assert!(seen.target.contains(&CompletionKind::Received {
            token: 3,
            immediate: Some(3),
            length: 64
        }));
    }
}

#[test]
fn a_full_queue_says_again_and_takes_the_post_later() {
    for ground in grounds() {
        let mut pair = ground.pair();
        let inject = Wish {
            inject: true,
            ..Wish::new(Operation::Send { immediate: 1 }, 64)
        };
        // Nobody receives: the target's buffers, then the initiator's own queue fill up.
        let mut taken = 0_u32;
        let full = (0..2_000_000).any(|_| match pair.initiator.post(inject) {
            Ok(()) => {
                taken += 1;
                false
            }
            Err(PostError::Again) => true,
            Err(other) => panic!("{ground:?}: {other:?}"),
        });
        assert!(full, "{ground:?}: {taken} posts, and the queue never filled");
        receive(&mut pair, 0, 64, 0);
        let mut again = true;
        pair.progress(|pair| {
            let arrived = pair.target.poll().unwrap();
            pair.initiator.poll().unwrap();
            if !arrived.is_empty() {
                receive(pair, 0, 64, 0);
            }
            again = again && pair.initiator.post(inject) == Err(PostError::Again);
            (!again).then_some(())
        });
    }
}

#[test]
fn four_rails_are_four_endpoints_at_their_own_addresses() {
    for mut ground in grounds() {
        if ground.provider != LibfabricProvider::Tcp {
            continue;
        }
        ground.rails = vec!["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"];
        let mut pair = ground.pair();
        let addresses: Vec<_> = pair
            .initiator
            .transport
            .facts()
            .rails
            .iter()
            .map(|r| r.address.clone())
            .collect();
        for (address, source) in addresses.iter().zip(&ground.rails) {
            assert!(address.starts_with(&format!("{source}:")), "{addresses:?}");
        }
        pair.initiator.fill(0, &pattern(4096, 9));
        for rail in 0..4 {
            let at = rail as u64 * 1024;
            let operation = Operation::Write {
                remote: pair.remote(rail),
                remote_offset: at,
            };
            pair.post(Wish {
                rail,
                offset: at,
                ..Wish::new(operation, 1024)
            });
        }
        let mut rails = Vec::new();
        pair.progress(|pair| {
            rails.extend(pair.poll().unwrap().iter().map(|(completion, _)| completion.rail));
            (rails.len() == 4).then_some(())
        });
        rails.sort_unstable();
        assert_eq!(rails, [0, 1, 2, 3], "{ground:?}");
        assert_eq!(pair.target.bytes(0, 4096), pattern(4096, 9), "{ground:?}");
    }
}

#[test]
fn a_sleeper_is_woken_by_what_arrives() {
    for ground in grounds() {
        let mut config = ground.config();
        config.sleeps = true;
        let mut pair = match Pair::open(&config) {
            Ok(pair) => pair,
            Err(error) => {
                // Shared memory has no file descriptor to sleep on, and says so.
                assert_eq!(ground.provider, LibfabricProvider::Shm, "{error}");
                assert_eq!(error.reason, FailureReason::Refused, "{error}");
                assert!(error.message.contains("use polling Spin or Yield"), "{error}");
                continue;
            }
        };
        receive(&mut pair, 0, 64, 0);
        pair.post(Wish::new(Operation::Send { immediate: 1 }, 64));
        let begin = Instant::now();
        let mut arrived = Vec::new();
        while arrived.is_empty() {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "{ground:?}: nothing arrived"
            );
            pair.initiator.poll().unwrap();
            pair.target.transport.wait(Duration::from_millis(200)).unwrap();
            arrived = pair.target.poll().unwrap();
        }
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(50) {
            pair.target.transport.wait(Duration::from_millis(50)).unwrap();
            assert!(pair.target.poll().unwrap().is_empty());
        }
    }
}

#[test]
fn what_the_library_returned_is_recorded() {
    for ground in grounds() {
        let pair = ground.pair();
        let facts = pair.initiator.transport.facts();
        let library = facts.library.as_ref().unwrap();
        let old = library.version.starts_with("1.17");
        let provider = match ground.provider {
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
        let shm = ground.provider == LibfabricProvider::Shm;
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

/// Compile-time: a transport and its region move to the thread that uses them.
#[allow(dead_code, reason = "the compiler is the check")]
fn both_can_be_sent(ground: Ground) {
    fn sent<T: Send>(_: T) {}
    let side = ground.pair().initiator;
    sent(side.transport);
    sent(side.region);
}
