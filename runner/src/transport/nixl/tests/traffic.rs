//! Tests of the traffic that only this transport has, and its conformance.

use super::harness::{LENGTH, Pair, PostRequest, divide, pattern, setups, subjects, tcp};
use crate::transport::nixl::Nixl;
use crate::transport::{CompletionKind, Operation, Transport};
use crds::v1alpha1::NixlRequests;

crate::transport_conformance!(Nixl, subjects(), #[ignore = "run by runs_the_ignored_tests"]);

const POSTED: CompletionKind = CompletionKind::Posted { token: 0 };

/// Checks that a request prepared for a transfer's location is reused, with and without immediate data.
#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn prepared_requests_are_reused() {
    for setup in setups() {
        let mut pair = setup.pair();
        let write = Operation::Write {
            remote: pair.remote(0),
            remote_offset: 0,
        };
        let post = PostRequest::new(write, 4096);
        pair.initiator.prepare(post, 3).unwrap();
        pair.initiator.prepare(post, 2).unwrap();
        let is_prepared = setup.spec.requests == NixlRequests::Prepared;
        let expected = if is_prepared { 3 } else { 0 };
        assert_eq!(
            pair.initiator.transport.preparation_stats().unwrap().requests,
            expected,
            "{setup:?}"
        );
        for round in 0..20_u8 {
            pair.initiator.fill(0, &pattern(4096, round));
            let is_notified = round % 3 == 0;
            let operation = match is_notified {
                true => Operation::WriteImmediate {
                    remote: pair.remote(0),
                    remote_offset: 0,
                    immediate: u64::from(round),
                },
                false => write,
            };
            pair.post(PostRequest::new(operation, 4096));
            let observed = pair.poll_until(|observed| {
                !observed.initiator.is_empty() && (!is_notified || !observed.target.is_empty())
            });
            assert_eq!(observed.initiator, [POSTED], "{setup:?}");
            assert_eq!(observed.target.len(), usize::from(is_notified), "{setup:?}");
            assert_eq!(pair.target.bytes(0, 4096), pattern(4096, round), "{setup:?}");
        }
        let preparation = pair.initiator.transport.preparation_stats().unwrap();
        assert_eq!(preparation.requests, expected, "{setup:?}");
        assert_eq!(preparation.nanos > 0, is_prepared, "{setup:?}");
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn reports_the_transfer_steps_and_the_backend() {
    for setup in setups() {
        let mut config = setup.config();
        config.counts_protocols = true;
        let mut pair = Pair::open(&config, None).unwrap();
        let operation = Operation::Write {
            remote: pair.remote(0),
            remote_offset: 0,
        };
        let post = PostRequest::new(operation, 300_000);
        pair.initiator.prepare(post, 1).unwrap();
        for _ in 0..5 {
            pair.post(PostRequest::new(operation, 300_000));
            pair.poll_until(|observed| !observed.initiator.is_empty());
        }
        let super::harness::Pair {
            initiator, target, ..
        } = pair;
        let protocols = initiator.transport.close();
        drop(target);
        let [protocol] = protocols.as_slice() else {
            panic!("{setup:?}: {protocols:?}")
        };
        assert_eq!((protocol.function.as_str(), protocol.count), ("nixl WRITE", 5));
        assert_eq!((protocol.from_bytes, protocol.to_bytes), (300_000, Some(300_000)));
        assert_eq!(protocol.lanes, "UCX");
        let steps = protocol.steps.as_ref().unwrap();
        assert_eq!((steps.transfers, steps.reported_transfers), (5, 5), "{steps:?}");
        assert_eq!(steps.reported_bytes, 5 * 300_000);
        let descriptors = match setup.spec.descriptors {
            Some(descriptors) if !descriptors.merge => 300,
            _ => 1,
        };
        assert_eq!(steps.reported_descriptors, 5 * descriptors, "{setup:?}");
        assert!(
            steps.post_nanos > 0 && steps.post_nanos + steps.completion_nanos >= 1000,
            "{steps:?}"
        );
        let is_created = setup.spec.requests == NixlRequests::Created;
        assert_eq!(steps.creation_nanos > 0, is_created, "{steps:?}");
        // The library measures a transfer in whole microseconds, starting before the post.
        let own = steps.post_nanos + steps.completion_nanos;
        assert!(
            steps.reported_transfer_micros * 1000 <= own + 100_000,
            "{steps:?}"
        );
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn transfers_a_list_of_100_000_descriptors() {
    const LENGTH: usize = 500_000;
    let mut pair = divide(tcp(), 5, false).pair();
    for (read, seed) in [(false, 11), (true, 12)] {
        let (from, to) = match read {
            true => (&mut pair.target, &mut pair.initiator),
            false => (&mut pair.initiator, &mut pair.target),
        };
        from.fill(0, &pattern(LENGTH, seed));
        to.fill(0, &[0; LENGTH]);
        let remote = pair.remote(0);
        let remote_offset = 0;
        let operation = match read {
            true => Operation::Read {
                remote,
                remote_offset,
            },
            false => Operation::Write {
                remote,
                remote_offset,
            },
        };
        pair.post(PostRequest::new(operation, LENGTH as u64));
        let observed = pair.poll_until(|observed| !observed.initiator.is_empty());
        assert_eq!(observed.initiator, [POSTED]);
        let to = if read { &pair.initiator } else { &pair.target };
        assert_eq!(to.bytes(0, LENGTH), pattern(LENGTH, seed), "read {read}");
    }
}

/// Requests beyond the limit are refused, rather than being created during the samples.
#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn refuses_to_prepare_too_many_descriptors() {
    let mut pair = divide(tcp(), 1, false).pair();
    let operation = Operation::Write {
        remote: pair.remote(0),
        remote_offset: 0,
    };
    let post = PostRequest::new(operation, LENGTH as u64);
    let refused = pair.initiator.prepare(post, 3).unwrap_err();
    assert!(
        refused.message.contains("more than 16384 prepared requests"),
        "{refused:?}"
    );
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn describes_the_library_and_its_parameters() {
    let pair = tcp().pair();
    let facts = pair.initiator.transport.facts();
    let library = facts.library.as_ref().unwrap();
    assert_eq!((library.name.as_str(), facts.provider.as_str()), ("nixl", "UCX"));
    assert!(library.path.ends_with("/libnixl_capi.so"), "{library:?}");
    assert_eq!(facts.settings["engine_config"], "TLS=tcp,NET_DEVICES=lo");
    assert_eq!(facts.settings["requests"], "prepared");
    assert!(facts.settings.keys().all(|name| !name.contains("fabricbench")));
    assert_eq!(facts.rails[0].interface.as_deref(), Some("lo"));
    assert_eq!(facts.progress, "manual");
    let addresses = pair.initiator.transport.addresses();
    println!("addresses of {} bytes", addresses.rails[0].len());
    assert_eq!(
        LENGTH,
        crate::transport::Region::memory(&pair.initiator.region).length()
    );
}
