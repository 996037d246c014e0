//! What a transport must refuse.

use super::{SEND, Subject, receive, write};
use crate::transport::test_pair::{LENGTH, PostRequest};
use crate::transport::{
    CompletionKind, EndpointAddresses, OpenConfig, PostError, Region, RemoteRegion, Transport,
};
use crds::record::FailureReason;
use std::time::Duration;

pub fn a_transport_that_was_opened_for_polling_does_not_wait<T: Transport>(subject: &Subject) {
    let error = subject
        .pair::<T>()
        .target
        .transport
        .wait(Duration::ZERO)
        .unwrap_err();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
}

pub fn a_depth_of_zero_is_rejected<T: Transport>(subject: &Subject) {
    let config = OpenConfig {
        depth: 0,
        ..subject.config.clone()
    };
    let error = T::open(&config).err().unwrap();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
    assert!(error.message.starts_with("0 posts in flight"), "{error}");
}

pub fn a_missing_library_is_reported<T: Transport>(subject: &Subject) {
    let config = OpenConfig {
        library: Some("/nowhere".into()),
        ..subject.config.clone()
    };
    let error = T::open(&config).err().unwrap();
    assert_eq!(error.reason, FailureReason::LibraryNotFound, "{error}");
    assert!(error.message.contains("/nowhere"), "{error}");
}

pub fn more_sources_than_rails_are_rejected<T: Transport>(subject: &Subject) {
    let config = OpenConfig {
        rails: vec!["127.0.0.1".to_owned(), "127.0.0.2".to_owned()],
        ..subject.config.clone()
    };
    let error = T::open(&config).err().unwrap();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
    assert_eq!(error.message, "1 rails requested, but 2 rail sources given");
}

pub fn a_peer_with_another_number_of_rails_is_rejected<T: Transport>(subject: &Subject) {
    let mut pair = subject.pair::<T>();
    let two = EndpointAddresses {
        rails: vec![pair.target.transport.addresses().rails[0].clone(); 2],
    };
    let error = pair.initiator.transport.connect(&two).unwrap_err();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
    assert!(error.message.starts_with("the peer has 2 rails"), "{error}");
    let region = pair.target.region.remote();
    let two = RemoteRegion {
        rails: vec![region.rails[0].clone(); 2],
        ..region
    };
    let error = pair.initiator.transport.import(0, &two).unwrap_err();
    assert!(error.message.contains("keys for 2 rails"), "{error}");
    let error = pair.initiator.transport.connect(&EndpointAddresses {
        rails: vec![b"x".to_vec()],
    });
    let error = error.unwrap_err();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
    assert!(error.message.starts_with("rail 0: "), "{error}");
}

pub fn invalid_arguments_are_refused<T: Transport>(subject: &Subject) {
    let mut pair = subject.pair::<T>();
    let refused = Err(PostError::Refused(libc::EINVAL));
    let post = PostRequest::new(write(&pair, 0, 0), 8);
    for invalid in [
        PostRequest { rail: 1, ..post },
        PostRequest {
            token: subject.config.depth as u32,
            ..post
        },
        PostRequest {
            offset: LENGTH as u64 - 7,
            ..post
        },
        PostRequest {
            offset: u64::MAX,
            ..post
        },
    ] {
        assert_eq!(pair.initiator.post(invalid), refused, "{subject:?}");
    }
    let (initiator, target) = (&mut pair.initiator, &mut pair.target);
    let foreign = target.transport.post_receive(0, &initiator.region, 0, 8, 0);
    assert_eq!(foreign, refused, "memory registered with another transport");
}

pub fn a_token_is_refused_while_it_is_in_flight<T: Transport>(subject: &Subject) {
    let mut pair = subject.pair::<T>();
    receive(&mut pair, 0, 64, 3);
    let target = &mut pair.target;
    let again = target.transport.post_receive(0, &target.region, 0, 64, 3);
    assert_eq!(again, Err(PostError::Refused(libc::EBUSY)), "{subject:?}");
    pair.post(PostRequest::new(SEND, 8));
    let observed = pair.poll_until(|observed| !observed.target.is_empty());
    let arrived = CompletionKind::Received {
        token: 3,
        immediate: Some(0xdead_beef),
        length: 8,
    };
    assert_eq!(observed.target, [arrived], "{subject:?}");
    receive(&mut pair, 0, 64, 3);
}
