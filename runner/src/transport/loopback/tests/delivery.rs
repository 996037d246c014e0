//! Tests that every operation transfers exactly the requested bytes, for every size.

use proptest::prelude::*;

use super::*;

const SIZES: [usize; 9] = [0, 1, 64, 256, 257, 8192, 8193, 262_144, 300_001];
const ROOM: usize = 400_000;

fn filled_bytes(side: &Side, seed: u8) -> Vec<u8> {
    let bytes = pattern(seed, ROOM);
    side.memory.write_from(0, &bytes).unwrap();
    bytes
}

#[test]
fn delivers_a_send_with_immediate_data_to_a_receive() {
    for kind in [MemoryKind::Heap, MemoryKind::SharedMemory] {
        let (mut one, mut two) = pair_with(1, 16, kind, ROOM);
        for (token, size) in (0..).zip(SIZES) {
            let sent = filled_bytes(&one, 1);
            let mut expected = filled_bytes(&two, 2);
            two.receive(0, 100, size as u64 + 5, token);
            one.post(|post| {
                post.operation = Operation::Send {
                    immediate: 0xf_1234_5678,
                };
                (post.offset, post.length, post.token) = (7, size as u64, token + 3);
            })
            .unwrap();
            let (done, received) = poll_both(&mut one, &mut two, (1, 1));
            assert_eq!(done, [CompletionKind::Posted { token: token + 3 }]);
            let arrived = CompletionKind::Received {
                token,
                immediate: Some(0x1234_5678),
                length: size as u64,
            };
            assert_eq!(received, [arrived]);
            expected[100..100 + size].copy_from_slice(&sent[7..7 + size]);
            assert_eq!(two.bytes(0, ROOM), expected, "{size} bytes");
        }
    }
}

#[test]
fn transfers_writes_and_reads_and_reports_only_immediate_data() {
    let (mut one, mut two) = pair_with(1, 16, MemoryKind::Heap, ROOM);
    let remote = two.key();
    for size in SIZES {
        let own = filled_bytes(&one, 3);
        let theirs = filled_bytes(&two, 4);
        let operations = [
            Operation::Write {
                remote,
                remote_offset: 50,
            },
            Operation::WriteImmediate {
                remote,
                remote_offset: 50,
                immediate: 9,
            },
            Operation::Read {
                remote,
                remote_offset: 50,
            },
        ];
        for operation in operations {
            one.memory.write_from(0, &own).unwrap();
            two.memory.write_from(0, &theirs).unwrap();
            one.post(|post| {
                post.operation = operation;
                (post.offset, post.length) = (11, size as u64);
            })
            .unwrap();
            let seen = usize::from(matches!(operation, Operation::WriteImmediate { .. }));
            let (_, received) = poll_both(&mut one, &mut two, (1, seen));
            let (mut here, mut there) = (own.clone(), theirs.clone());
            if matches!(operation, Operation::Read { .. }) {
                here[11..11 + size].copy_from_slice(&theirs[50..50 + size]);
            } else {
                there[50..50 + size].copy_from_slice(&own[11..11 + size]);
            }
            assert_eq!(one.bytes(0, ROOM), here, "{operation:?} of {size} bytes");
            assert_eq!(two.bytes(0, ROOM), there, "{operation:?} of {size} bytes");
            assert_eq!(received, vec![CompletionKind::RemoteWrite { immediate: 9 }; seen]);
        }
    }
}

#[test]
fn keeps_rails_and_peers_separate() {
    let target_config = OpenConfig {
        peers: 2,
        ..config(2, 16, false)
    };
    let mut target = Side::open(&target_config, MemoryKind::Heap, 4096);
    let mut sides = [0u8, 1].map(|seed| {
        let mut side = Side::open(&config(2, 16, false), MemoryKind::Heap, 4096);
        side.memory.fill(seed + 1).unwrap();
        connect(&mut side, &mut target);
        side
    });
    for (peer, side) in (0u64..).zip(&mut sides) {
        for rail in 0..2 {
            let remote = RemoteKey::try_from(&target.region.remote().rails[rail]).unwrap();
            side.post(|post| {
                let immediate = peer * 2 + rail as u64;
                post.operation = Operation::WriteImmediate {
                    remote,
                    remote_offset: immediate * 64,
                    immediate,
                };
                (post.rail, post.length) = (rail, 64);
            })
            .unwrap();
        }
    }
    let mut room = [EMPTY; 8];
    let count = target.transport.poll(&mut room).unwrap();
    let mut seen: Vec<(Rail, u64)> = room[..count]
        .iter()
        .map(|completion| match completion.kind {
            CompletionKind::RemoteWrite { immediate } => (completion.rail, immediate),
            other => panic!("{other:?}"),
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, [(0, 0), (0, 2), (1, 1), (1, 3)]);
    assert_eq!(
        target.bytes(0, 256),
        [[1; 64], [1; 64], [2; 64], [2; 64]].concat()
    );
}

#[test]
fn delivers_correctly_when_the_ring_wraps() {
    let (mut one, mut two) = pair_with(1, 16, MemoryKind::Heap, 4 * 9000);
    for round in 0..200u64 {
        // Four posts of varying sizes, so that slots and fragments wrap at different times.
        for index in 0..4u64 {
            let size = 1 + (round * 997 + index * 2741) % 9000;
            one.memory
                .write_from(index as usize * 9000, &pattern(round as u8, size as usize))
                .unwrap();
            two.receive(0, index * 9000, 9000, index as u32);
            one.post(|post| {
                post.operation = Operation::Send { immediate: size };
                (post.offset, post.length) = (index * 9000, size);
            })
            .unwrap();
        }
        let (_, received) = poll_both(&mut one, &mut two, (4, 4));
        for (index, kind) in received.into_iter().enumerate() {
            let CompletionKind::Received {
                token,
                immediate: Some(size),
                length,
            } = kind
            else {
                panic!("{kind:?}");
            };
            assert_eq!((token as usize, length), (index, size));
            assert_eq!(
                two.bytes(index * 9000, size as usize),
                pattern(round as u8, size as usize)
            );
        }
    }
}

/// Step of a random sequence.
#[derive(Clone, Copy, Debug)]
enum Step {
    Post {
        rail: Rail,
        size: usize,
        immediate_write: bool,
        inject: bool,
        more: bool,
    },
    PollSender,
    PollTarget {
        room: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![4 => 0usize..=256, 2 => 257usize..20_000, 1 => Just(70_000)];
    let post = (0usize..2, size, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(rail, size, immediate_write, inject, more)| Step::Post {
            rail,
            size,
            immediate_write,
            inject: inject && size <= 256,
            more,
        },
    );
    let poll = prop_oneof![
        Just(Step::PollSender),
        (0usize..4).prop_map(|room| Step::PollTarget { room })
    ];
    proptest::collection::vec(prop_oneof![2 => post, 1 => poll], 1..120)
}

const SPACE: usize = 70_000;

/// Offset, in the target's memory, of the receive with this rail and token.
///
/// The space after the four receives is reserved for writes.
fn receive_offset(rail: Rail, token: u32) -> usize {
    (rail * 2 + token as usize) * SPACE
}

/// Immediate data that arrived at the target, by rail and in order of arrival.
struct Arrivals([Vec<u64>; 2]);

impl Arrivals {
    fn poll(&mut self, target: &mut Side, room: usize) {
        let mut completions = vec![EMPTY; room];
        let count = target.transport.poll(&mut completions).unwrap();
        for Completion { rail, kind } in completions.into_iter().take(count) {
            match kind {
                CompletionKind::Received {
                    immediate: Some(immediate),
                    token,
                    length,
                } => {
                    self.0[rail].push(immediate);
                    let offset = receive_offset(rail, token);
                    // The content identifies the post.
                    if length > 0 {
                        assert_eq!(target.bytes(offset, 1), [immediate as u8]);
                        assert_eq!(target.bytes(offset + length as usize - 1, 1), [immediate as u8]);
                    }
                    target.receive(rail, offset as u64, SPACE as u64, token);
                }
                CompletionKind::RemoteWrite { immediate } => self.0[rail].push(immediate),
                other => panic!("{other:?}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn delivers_any_sequence_of_posts_once_and_in_order_per_rail(steps in steps()) {
        let config = config(2, 16, false);
        // Two receives per rail are sufficient, because they are reposted when they complete.
        let mut sender = Side::open(&config, MemoryKind::Heap, 128 * SPACE);
        let mut target = Side::open(&config, MemoryKind::Heap, 5 * SPACE);
        connect(&mut sender, &mut target);
        for (rail, token) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            target.receive(rail, receive_offset(rail, token) as u64, SPACE as u64, token);
        }
        let remote = target.key();
        let mut posted = [Vec::new(), Vec::new()];
        let mut completed = 0;
        let mut expected = 0;
        let mut arrivals = Arrivals([Vec::new(), Vec::new()]);
        let mut room = [EMPTY; 8];
        let mut number = 0u64;
        let flush = [0, 1].map(|rail| Step::Post { rail, size: 1, immediate_write: false, inject: false, more: false });
        for step in steps.into_iter().chain(flush) {
            match step {
                Step::Post { rail, size, immediate_write, inject, more } => {
                    sender.memory.write_from(number as usize * SPACE, &vec![number as u8; size]).unwrap();
                    for attempt in 0.. {
                        prop_assert!(attempt < MAX_POLLS, "the post was never accepted");
                        let result = sender.post(|post| {
                            post.operation = if immediate_write {
                                Operation::WriteImmediate { remote, remote_offset: 4 * SPACE as u64, immediate: number }
                            } else {
                                Operation::Send { immediate: number }
                            };
                            (post.rail, post.offset, post.length) = (rail, number * SPACE as u64, size as u64);
                            // Like the posting policy, retry without `more`.
                            (post.inject, post.more) = (inject, more && attempt == 0);
                        });
                        match result {
                            Ok(()) => break,
                            Err(PostError::Again) => {
                                completed += sender.transport.poll(&mut room).unwrap();
                                arrivals.poll(&mut target, 8);
                            }
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                    posted[rail].push(number);
                    expected += usize::from(!inject);
                    number += 1;
                }
                Step::PollSender => completed += sender.transport.poll(&mut room).unwrap(),
                Step::PollTarget { room } => arrivals.poll(&mut target, room),
            }
        }
        for _ in 0..MAX_POLLS {
            arrivals.poll(&mut target, 8);
            completed += sender.transport.poll(&mut room).unwrap();
            if completed == expected && arrivals.0[0].len() + arrivals.0[1].len() == number as usize {
                break;
            }
        }
        prop_assert_eq!(completed, expected);
        prop_assert_eq!(&arrivals.0, &posted);
        // No further completions follow.
        prop_assert_eq!(sender.transport.poll(&mut room).unwrap(), 0);
        prop_assert_eq!(target.transport.poll(&mut room).unwrap(), 0);
    }
}
