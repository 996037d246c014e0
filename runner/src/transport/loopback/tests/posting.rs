//! Tests of injection, doorbells, full rings, and sends without a posted receive.

use super::*;

const INVALID: PostError = PostError::Refused(22);
const TOO_LONG: PostError = PostError::Refused(90);

#[test]
fn refuses_unsupported_injection() {
    let (mut one, two) = pair(1, 16);
    let remote = two.key();
    assert_eq!(
        one.post(|post| (post.inject, post.length) = (true, 257)),
        Err(TOO_LONG)
    );
    let read = Operation::Read {
        remote,
        remote_offset: 0,
    };
    // Neither side would learn that an injected write without immediate data has arrived.
    let write = Operation::Write {
        remote,
        remote_offset: 0,
    };
    for operation in [read, write] {
        assert_eq!(
            one.post(|post| (post.inject, post.operation) = (true, operation)),
            Err(INVALID)
        );
    }
    assert_eq!(one.transport.facts().inject_limits.send_bytes, 256);
}

#[test]
fn delivers_a_burst_only_after_its_last_post() {
    for first in [8, 3000] {
        let (mut one, mut two) = pair(2, 16);
        let remote = two.key();
        let mut write = |rail, length, immediate, more| {
            one.post(|post| {
                post.operation = Operation::WriteImmediate {
                    remote,
                    remote_offset: 0,
                    immediate,
                };
                (post.rail, post.length, post.more) = (rail, length, more);
            })
            .unwrap();
        };
        write(0, first, 1, true);
        write(0, 8, 2, true);
        // The doorbell on another rail does not release the posts of this rail.
        write(1, 8, 10, false);
        assert_eq!(two.poll(), [CompletionKind::RemoteWrite { immediate: 10 }]);
        assert_eq!((one.poll().len(), two.poll().len()), (1, 0));
        one.post(|post| {
            post.operation = Operation::WriteImmediate {
                remote,
                remote_offset: 0,
                immediate: 3,
            };
            post.length = 8;
        })
        .unwrap();
        let (_, received) = poll_both(&mut one, &mut two, (3, 3));
        let immediates = [1, 2, 3].map(|immediate| CompletionKind::RemoteWrite { immediate });
        assert_eq!(received, immediates);
    }
}

#[test]
fn a_doorbell_releases_posts_to_all_peers_on_the_rail() {
    let mut one = Side::open(
        &OpenConfig {
            peers: 2,
            ..config(1, 16, false)
        },
        MemoryKind::Heap,
        64,
    );
    let mut targets = [0, 1].map(|_| {
        let mut side = Side::open(&config(1, 16, false), MemoryKind::Heap, 64);
        connect(&mut one, &mut side);
        side.receive(0, 0, 64, 0);
        side
    });
    one.post(|post| (post.peer, post.more) = (0, true)).unwrap();
    assert_eq!(targets[0].poll(), []);
    one.post(|post| post.peer = 1).unwrap();
    assert_eq!(targets.each_mut().map(|target| target.poll().len()), [1, 1]);
}

#[test]
fn a_full_queue_returns_again_and_rings_the_doorbell() {
    let (mut one, mut two) = pair(1, 16);
    let depth = one.transport.facts().transmit_depth;
    assert_eq!(depth, 16);
    for _ in 0..depth {
        one.post(|post| (post.length, post.more) = (8, true)).unwrap();
    }
    assert_eq!(one.post(|post| post.length = 8), Err(PostError::Again));
    for token in 0..16 {
        two.receive(0, 0, 8, token);
    }
    poll_both(&mut one, &mut two, (16, 16));
    one.post(|post| post.length = 8).unwrap();
}

#[test]
fn an_injection_behind_a_long_message_returns_again() {
    let (mut one, mut two) = pair_with(1, 16, MemoryKind::Heap, 1_000_000);
    let remote = two.key();
    one.post(|post| {
        post.operation = Operation::Write {
            remote,
            remote_offset: 0,
        };
        post.length = 1_000_000;
    })
    .unwrap();
    assert_eq!(
        one.post(|post| (post.length, post.inject) = (8, true)),
        Err(PostError::Again)
    );
    poll_both(&mut one, &mut two, (1, 0));
    one.post(|post| (post.length, post.inject) = (8, true)).unwrap();
}

#[test]
fn returns_again_when_receives_are_exhausted() {
    let (_one, mut two) = pair(1, 16);
    for token in 0..16 {
        two.receive(0, 0, 8, token);
    }
    let again = two.transport.post_receive(0, &two.region, 0, 8, 16);
    assert_eq!(again, Err(PostError::Again));
}

#[test]
fn a_send_without_a_receive_blocks_later_posts() {
    let (mut one, mut two) = pair(1, 16);
    let remote = two.key();
    one.memory.fill(9).unwrap();
    one.post(|post| post.length = 8).unwrap();
    one.post(|post| {
        post.operation = Operation::Write {
            remote,
            remote_offset: 100,
        };
        post.length = 8;
    })
    .unwrap();
    assert_eq!((two.poll().len(), one.poll().len()), (0, 0));
    assert_eq!(two.bytes(100, 8), [0; 8]);
    two.receive(0, 0, 8, 7);
    let (_, received) = poll_both(&mut one, &mut two, (2, 1));
    assert!(matches!(received[0], CompletionKind::Received { token: 7, .. }));
    assert_eq!(two.bytes(100, 8), [9; 8]);
}

#[test]
fn refuses_invalid_arguments() {
    let (mut one, two) = pair(1, 16);
    assert_eq!(one.post(|post| post.rail = 1), Err(INVALID));
    assert_eq!(one.post(|post| post.peer = 1), Err(INVALID));
    assert_eq!(one.post(|post| post.length = 4097), Err(INVALID));
    assert_eq!(
        one.post(|post| (post.offset, post.length) = (u64::MAX, 1)),
        Err(INVALID)
    );
    let foreign = Post {
        rail: 0,
        peer: 0,
        operation: Operation::Send { immediate: 0 },
        region: &two.region,
        offset: 0,
        length: 1,
        inject: false,
        more: false,
        token: 0,
    };
    assert_eq!(one.transport.post(&foreign), Err(INVALID));
    assert_eq!(one.transport.post_receive(0, &two.region, 0, 1, 0), Err(INVALID));
    assert_eq!(one.transport.post_receive(1, &one.region, 0, 1, 0), Err(INVALID));
    assert_eq!(
        one.transport.post_receive(0, &one.region, 4096, 1, 0),
        Err(INVALID)
    );
}
