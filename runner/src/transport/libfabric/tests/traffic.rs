//! Tests of the traffic that only this transport has, and its conformance.

use super::harness::{Pair, PostRequest, setups, subjects};
use crate::transport::libfabric::Libfabric;
use crate::transport::{Operation, PostError, Transport};
use crds::v1alpha1::LibfabricProvider;

crate::transport_conformance!(Libfabric, subjects());

fn receive(pair: &mut Pair, offset: u64, length: u64, token: u32) {
    let target = &mut pair.target;
    target
        .transport
        .post_receive(0, &target.region, offset, length, token)
        .unwrap();
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
        let transport = setup.pair().initiator.transport;
        let addresses: Vec<_> = transport.facts().rails.iter().map(|rail| &rail.address).collect();
        for (address, source) in addresses.iter().zip(&setup.rails) {
            assert!(address.starts_with(&format!("{source}:")), "{addresses:?}");
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
