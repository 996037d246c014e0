//! Tests that every failure is reported exactly once, within a bounded time, and does not modify any memory.

use super::*;

fn write(side: &mut Side, remote: RemoteKey, remote_offset: u64, length: u64) {
    side.post(|post| {
        post.operation = Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate: 1,
        };
        (post.length, post.token) = (length, 4);
    })
    .unwrap();
}

#[test]
fn rejects_access_outside_registered_memory() {
    for (offset, length, wrong_key) in [
        (0, 8, true),
        (4090, 8, false),
        (4000, 3000, false),
        (u64::MAX, 8, false),
    ] {
        let (mut one, mut two) = pair(1, 16);
        one.memory.fill(1).unwrap();
        let mut remote = two.key();
        remote.key ^= u64::from(wrong_key) << 60;
        write(&mut one, remote, offset, length);
        let error = poll_error(&mut one, Some(&mut two));
        assert_eq!(error.reason, FailureReason::CompletionFailed);
        assert!(
            error.message.contains("token 4") && error.message.contains("no memory registered"),
            "{error}"
        );
        assert_eq!(two.bytes(0, 4096), vec![0; 4096]);
        // The connection still works.
        write(&mut one, two.key(), 0, 8);
        poll_both(&mut one, &mut two, (1, 1));
    }
}

#[test]
fn rejects_access_to_a_dropped_region() {
    let (mut one, mut two) = pair(1, 16);
    let remote = two.key();
    let fresh = two.transport.register(Arc::clone(&two.memory)).unwrap();
    drop(std::mem::replace(&mut two.region, fresh));
    write(&mut one, remote, 0, 8);
    assert_eq!(
        poll_error(&mut one, Some(&mut two)).reason,
        FailureReason::CompletionFailed
    );
}

#[test]
fn keeps_the_memory_of_a_post_in_flight() {
    let (mut one, mut two) = pair(1, 16);
    one.memory.fill(8).unwrap();
    write(&mut one, two.key(), 0, 3000);
    let other = Memory::allocate(MemoryKind::Heap, 64).unwrap();
    let fresh = one.transport.register(Arc::clone(&other)).unwrap();
    drop(std::mem::replace(&mut one.region, fresh));
    drop(one.transport.register(other).unwrap());
    poll_both(&mut one, &mut two, (1, 1));
    assert_eq!(two.bytes(0, 3000), vec![8; 3000]);
}

#[test]
fn reports_a_truncated_message_on_both_sides() {
    for length in [100, 3000] {
        let (mut one, mut two) = pair(1, 16);
        two.receive(0, 0, 99, 0);
        one.post(|post| post.length = length).unwrap();
        let mut room = [EMPTY; 8];
        let at_target = two.transport.poll(&mut room).unwrap_err();
        assert!(at_target.message.contains("receive of 99 bytes"), "{at_target}");
        let at_sender = poll_error(&mut one, Some(&mut two));
        assert!(
            at_sender.message.contains("longer than the receive"),
            "{at_sender}"
        );
        assert_eq!(two.bytes(0, 4096), vec![0; 4096]);
    }
}

#[test]
fn reports_completions_before_a_later_error() {
    let (mut one, mut two) = pair(1, 16);
    let mut remote = two.key();
    write(&mut one, remote, 0, 8);
    remote.key ^= 1 << 60;
    write(&mut one, remote, 0, 8);
    two.poll();
    assert_eq!(one.poll(), [CompletionKind::Posted { token: 4 }]);
    let mut room = [EMPTY; 8];
    assert!(one.transport.poll(&mut room).is_err());
    assert_eq!(one.transport.poll(&mut room), Ok(0));
}

#[test]
fn reports_a_closed_peer_with_unfinished_posts_as_lost() {
    let (mut one, two) = pair(1, 16);
    write(&mut one, two.key(), 0, 8);
    drop(two);
    let error = poll_error(&mut one, None);
    assert_eq!(error.reason, FailureReason::PeerLost);
    assert!(error.message.contains("closed its endpoint"), "{error}");
    assert_eq!(one.post(|post| post.length = 1), Err(PostError::Failed(107)));
}

#[test]
fn accepts_a_peer_that_closes_without_unfinished_posts() {
    let (mut one, mut two) = pair(1, 16);
    write(&mut one, two.key(), 0, 8);
    poll_both(&mut one, &mut two, (1, 1));
    one.receive(0, 0, 8, 0);
    two.post(|post| (post.length, post.inject) = (8, true)).unwrap();
    drop(two);
    let mut room = [EMPTY; 8];
    assert_eq!(one.transport.poll(&mut room), Ok(1));
    for _ in 0..MAX_POLLS {
        assert_eq!(one.transport.poll(&mut room), Ok(0));
    }
}

#[test]
fn rejects_more_peers_than_configured() {
    let config = config(1, 16, false);
    let target = Loopback::open(&config).unwrap();
    let mut first = Loopback::open(&config).unwrap();
    let mut second = Loopback::open(&config).unwrap();
    assert_eq!(first.connect(target.addresses()), Ok(0));
    let error = second.connect(target.addresses()).unwrap_err();
    assert!(error.message.contains("opened for 1 peers"), "{error}");
}

#[test]
fn rejects_invalid_peer_addresses() {
    let mut one = Loopback::open(&config(2, 16, false)).unwrap();
    let other = Loopback::open(&config(1, 16, false)).unwrap();
    let reason = |result: Result<Peer, TransportError>| result.unwrap_err().reason;
    assert_eq!(
        reason(one.connect(other.addresses())),
        FailureReason::OperationRejected
    );
    let foreign = EndpointAddresses {
        rails: vec![b"10.0.0.1".to_vec(); 2],
    };
    assert_eq!(reason(one.connect(&foreign)), FailureReason::OperationRejected);
    // If a process ID and a descriptor have been reused, the nonce in the segment header differs.
    let own = one.own.address();
    let other_nonce = SegmentAddress {
        nonce: own.nonce ^ 1,
        ..own
    };
    assert_eq!(
        reason(one.connect(&other_nonce.endpoint_addresses(2))),
        FailureReason::FabricUnreachable
    );
    let no_file = SegmentAddress {
        descriptor: 1_000_000,
        ..own
    };
    assert_eq!(
        reason(one.connect(&no_file.endpoint_addresses(2))),
        FailureReason::FabricUnreachable
    );
    let no_process = SegmentAddress {
        process: u32::MAX,
        ..own
    };
    assert_eq!(
        reason(one.connect(&no_process.endpoint_addresses(2))),
        FailureReason::FabricUnreachable
    );
    let two_rails_of_one_rail_segment = SegmentAddress::from_addresses(other.addresses())
        .unwrap()
        .endpoint_addresses(2);
    assert_eq!(
        reason(one.connect(&two_rails_of_one_rail_segment)),
        FailureReason::OperationRejected
    );
}

#[test]
fn rejects_unsupported_configurations() {
    let plain = config(1, 16, false);
    let libfabric = TransportSpec::Libfabric(Libfabric {
        provider: LibfabricProvider::Tcp,
        rails: 1,
    });
    for (unsupported, reason) in [
        (
            OpenConfig {
                spec: libfabric,
                ..plain.clone()
            },
            FailureReason::Internal,
        ),
        (
            OpenConfig {
                library: Some("/opt/lib".into()),
                ..plain.clone()
            },
            FailureReason::LibraryNotFound,
        ),
        (
            OpenConfig {
                rails: vec!["eth0".to_owned()],
                ..plain.clone()
            },
            FailureReason::NoDevice,
        ),
        (
            OpenConfig {
                depth: 65_537,
                ..plain.clone()
            },
            FailureReason::OperationRejected,
        ),
        (
            OpenConfig {
                peers: 1025,
                ..plain.clone()
            },
            FailureReason::OperationRejected,
        ),
        (config(0, 16, false), FailureReason::OperationRejected),
        (config(65, 16, false), FailureReason::OperationRejected),
        (
            OpenConfig {
                depth: 65_536,
                peers: 1024,
                ..config(64, 16, false)
            },
            FailureReason::NotEnoughMemory,
        ),
    ] {
        let error = Loopback::open(&unsupported).unwrap_err();
        assert_eq!(error.reason, reason, "{error}");
    }
}

#[test]
fn reports_a_corrupt_ring_without_crashing() {
    let (mut one, mut two) = pair(1, 16);
    let mut room = [EMPTY; 8];
    // Values that a malicious peer could write: an unknown operation, too many slots, and responses without posts.
    let ring = one.transport.own.segment.ring(0, 0);
    for tail in [1, 1000] {
        ring.publish(tail);
        let error = one.transport.poll(&mut room).unwrap_err();
        assert!(error.message.contains("invalid data"), "{error}");
    }
    one.transport.own.segment.ring(0, 0).set_consumed(5);
    two.post(|post| post.length = 1).unwrap();
    let error = two.transport.poll(&mut room).unwrap_err();
    assert!(error.message.contains("invalid data"), "{error}");
    assert_eq!(two.transport.poll(&mut room), Ok(0));
}
