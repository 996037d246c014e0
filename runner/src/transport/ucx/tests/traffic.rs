//! Tests of the traffic that only this transport has, and its conformance.

use super::harness::{
    LENGTH, Pair, PostRequest, Setup, pattern, setups, shared_memory, subjects, tcp, with_library_memory,
    with_local_completions,
};
use crate::transport::ucx::Ucx;
use crate::transport::{CompletionKind, Operation, Region, Transport};
use crds::v1alpha1::{UcxMessages, UcxPreset};
use std::time::{Duration, Instant};

crate::transport_conformance!(
    Ucx,
    subjects(),
    #[ignore = "run by runs_the_ignored_tests_with_each_library"]
);

fn receive(pair: &mut Pair, offset: u64, length: u64, token: u32) {
    let target = &mut pair.target;
    target
        .transport
        .post_receive(0, &target.region, offset, length, token)
        .unwrap();
}

/// Lengths of messages that UCX transfers in different ways: inline, in one segment, in several segments or as a
/// rendezvous. There are more of them than completions of one poll.
fn mixed_lengths() -> impl Iterator<Item = u64> {
    [64, 9_000, 20_000, 70_000]
        .into_iter()
        .cycle()
        .take(19)
        .chain([64])
}

/// Posts messages of these lengths from consecutive memory of the initiator, and polls both sides for some time. Returns
/// the number of posts in flight.
fn send_before_receives_are_posted(pair: &mut Pair, lengths: impl Iterator<Item = u64>) -> usize {
    let mut end = 0;
    let mut in_flight = 0;
    for (token, length) in (0..).zip(lengths) {
        let operation = Operation::Send {
            immediate: 100 + u64::from(token),
        };
        pair.post(PostRequest {
            token,
            offset: end,
            ..PostRequest::new(operation, length)
        });
        end += length;
        in_flight += 1;
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(20) {
        in_flight -= pair.initiator.poll().unwrap().len();
        assert!(pair.target.poll().unwrap().is_empty());
    }
    in_flight
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn delivers_messages_that_arrive_before_their_receives_in_order() {
    for setup in setups() {
        let mut pair = setup.pair();
        let total = mixed_lengths().sum::<u64>() as usize;
        pair.initiator.fill(0, &pattern(total, 2));
        let in_flight = send_before_receives_are_posted(&mut pair, mixed_lengths());
        let mut offset = 0;
        for (token, length) in (0..).zip(mixed_lengths()) {
            receive(&mut pair, offset, length, token);
            offset += length;
        }
        let observed = pair.poll_until(|observed| {
            observed.target.len() == mixed_lengths().count() && observed.initiator.len() == in_flight
        });
        for (token, length) in (0..).zip(mixed_lengths()) {
            let arrived = CompletionKind::Received {
                token,
                immediate: Some(100 + u64::from(token)),
                length,
            };
            assert!(observed.target.contains(&arrived), "{setup:?}: {arrived:?}");
        }
        assert_eq!(pair.target.bytes(0, total), pattern(total, 2), "{setup:?}");
    }
}

/// Fails if the library prints that a message was not released. UCX releases tagged messages itself.
#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn active_messages_without_a_receive_are_released() {
    let uses_active_messages = |setup: &Setup| setup.spec.messages == UcxMessages::ActiveMessage;
    for setup in setups().into_iter().filter(uses_active_messages) {
        // UCX sends these messages without a rendezvous, which the sender could not complete.
        send_before_receives_are_posted(&mut setup.pair(), [64, 3_000, 64, 3_000].into_iter());
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn a_message_longer_than_its_receive_is_an_error() {
    for setup in setups() {
        // UCX sends these messages without a rendezvous, which the sender could not complete.
        for length in [64, 3_000] {
            let mut pair = setup.pair();
            send_before_receives_are_posted(&mut pair, [length].into_iter());
            receive(&mut pair, 0, length - 1, 0);
            let error = pair.retry_until_some(|pair| {
                let _ = pair.initiator.poll();
                pair.target.poll().err()
            });
            let error = error.to_string();
            assert!(
                error.contains("receive with token 0"),
                "{setup:?}, {length} bytes: {error}"
            );
        }
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn library_memory_outlives_its_transport() {
    for setup in [tcp(), shared_memory()].map(with_library_memory) {
        let pair = setup.pair();
        let region = &pair.initiator.region;
        assert_eq!(region.registration_method(), "ucp_mem_map (allocated by UCX)");
        assert_eq!(region.memory().length(), LENGTH);
        assert_eq!(pair.initiator.bytes(0, LENGTH), vec![0; LENGTH], "{setup:?}");
        let memory = std::sync::Arc::clone(region.memory());
        drop(pair);
        memory.write_from(LENGTH - 4, &[1, 2, 3, 4]).unwrap();
        let mut last = [0; 4];
        memory.read_into(LENGTH - 4, &mut last).unwrap();
        assert_eq!(last, [1, 2, 3, 4], "{setup:?}");
        assert!(memory.write_from(LENGTH - 3, &[0; 4]).is_err());
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn records_lanes_and_the_effective_configuration() {
    for setup in setups() {
        let pair = setup.pair();
        let facts = pair.initiator.transport.facts();
        let lanes = &facts.rails[0].lanes;
        if setup.rails.is_empty() {
            assert!(lanes.contains(&"posix/memory".to_owned()), "{lanes:?}");
        } else {
            assert_eq!(lanes, &["tcp/lo"]);
            assert_eq!(facts.rails[0].interface.as_deref(), Some("lo"));
        }
        let mode = if setup.rails.is_empty() || setup.spec.error_handling.is_some() {
            "none"
        } else {
            "peer"
        };
        assert_eq!(facts.error_handling.as_deref(), Some(mode));
        let hash = facts.configuration_sha256.as_ref().unwrap();
        let mut other = setup.clone();
        other.spec.settings = vec![crds::v1alpha1::UcxSetting {
            name: "RNDV_THRESH".to_owned(),
            value: "1m".to_owned(),
        }];
        let other = other.pair();
        let changed = other.initiator.transport.facts();
        assert_ne!(changed.configuration_sha256.as_ref(), Some(hash));
        assert_eq!(changed.settings["RNDV_THRESH"], "1m");
        let same = setup.pair();
        assert_eq!(
            same.target.transport.facts().configuration_sha256.as_ref(),
            Some(hash)
        );
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn the_library_accepts_every_preset() {
    for setup in setups() {
        let plain = setup.pair();
        for preset in [UcxPreset::Nixl, UcxPreset::Ucxx] {
            let mut setup = setup.clone();
            setup.spec.preset = preset;
            let pair = setup.pair();
            let (plain, facts) = (
                plain.initiator.transport.facts(),
                pair.initiator.transport.facts(),
            );
            assert_ne!(
                plain.configuration_sha256, facts.configuration_sha256,
                "{preset:?}"
            );
        }
    }
}

/// Polls both sides until no flush is in flight.
fn poll_until_flushed(pair: &mut Pair) {
    pair.retry_until_some(|pair| {
        pair.poll().unwrap();
        (pair.initiator.transport.flushes_in_flight() == 0).then_some(())
    });
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn writes_that_complete_locally_have_arrived_after_a_flush() {
    const BURST: u32 = 48;
    const LENGTH: u64 = 8192;
    for setup in setups().map(with_local_completions) {
        let mut pair = setup.pair();
        assert!(pair.initiator.transport.capabilities().completes_writes_locally);
        let bytes = (u64::from(BURST) * LENGTH) as usize;
        pair.initiator.fill(0, &pattern(bytes, 8));
        for token in 0..BURST {
            let at = u64::from(token) * LENGTH;
            let operation = Operation::Write {
                remote: pair.remote(0),
                remote_offset: at,
            };
            pair.post(PostRequest {
                offset: at,
                token,
                ..PostRequest::new(operation, LENGTH)
            });
        }
        let observed = pair.poll_until(|observed| observed.initiator.len() == BURST as usize);
        assert_eq!(observed.target, [], "{setup:?}");
        pair.initiator.transport.post_flush(0).unwrap();
        poll_until_flushed(&mut pair);
        assert_eq!(pair.target.bytes(0, bytes), pattern(bytes, 8), "{setup:?}");
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn flush_completes_after_the_preceding_message() {
    for setup in setups() {
        let mut pair = setup.pair();
        pair.initiator.fill(0, &pattern(300_000, 3));
        receive(&mut pair, 0, 500_000, 1);
        pair.post(PostRequest::new(Operation::Send { immediate: 1 }, 300_000));
        pair.initiator.transport.post_flush(0).unwrap();
        pair.poll_until(|observed| !observed.initiator.is_empty() && !observed.target.is_empty());
        poll_until_flushed(&mut pair);
        assert_eq!(pair.target.bytes(0, 300_000), pattern(300_000, 3), "{setup:?}");
    }
}
