//! Tests that invalid configurations, posts and peers are rejected with the correct reason.

use super::harness::{LENGTH, PostRequest, Setup, parameter, setups, tcp};
use crate::transport::nixl::Nixl;
use crate::transport::{EndpointAddresses, Operation, PostError, Region, Transport, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::NixlBackend;

fn open_error(setup: &Setup) -> TransportError {
    match Nixl::open(&setup.config()) {
        Ok(_) => panic!("{setup:?} opened"),
        Err(error) => error,
    }
}

#[test]
fn rejects_a_library_without_its_functions() {
    let directory = tempfile::tempdir().unwrap();
    let libm = [
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib/aarch64-linux-gnu/libm.so.6",
    ];
    let libm = libm
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .unwrap();
    std::os::unix::fs::symlink(libm, directory.path().join("libnixl_capi.so")).unwrap();
    let mut config = tcp().config();
    config.library = Some(directory.path().into());
    let error = Nixl::open(&config).err().unwrap();
    assert_eq!(error.reason, FailureReason::LibraryNotFound, "{error}");
    let expected = "has no function nixl_capi_is_stub: it is not NIXL 1.4 or later";
    assert!(error.message.ends_with(expected), "{error}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_a_backend_that_cannot_be_loaded() {
    // The plugin needs CUDA libraries, which a machine without a GPU does not have.
    let mut setup = tcp();
    setup.rails = Vec::new();
    setup.spec.parameters = Vec::new();
    setup.spec.backend = NixlBackend::Libfabric;
    match Nixl::open(&setup.config()) {
        Ok(transport) => assert_eq!(transport.facts().provider, "LIBFABRIC"),
        Err(error) => {
            assert_eq!(error.reason, FailureReason::LibraryNotFound, "{error}");
            assert!(error.message.contains("LIBFABRIC"), "{error}");
        }
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_devices_that_do_not_exist() {
    let address = open_error(&Setup {
        rails: vec!["203.0.113.77"],
        ..tcp()
    });
    assert_eq!(address.reason, FailureReason::NoDevice, "{address}");
    assert!(address.message.contains("203.0.113.77"), "{address}");
    let device = open_error(&Setup {
        rails: vec!["no-such-device"],
        ..tcp()
    });
    assert_eq!(device.reason, FailureReason::OperationRejected, "{device}");
    assert!(device.message.contains("finds no device"), "{device}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_reserved_parameters() {
    let mut reserved = tcp();
    reserved.spec.parameters = vec![parameter("device_list", "mlx5_0")];
    let reserved = open_error(&reserved);
    assert!(reserved.message.contains("contains device_list"), "{reserved}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_truncated_and_corrupt_metadata() {
    let mut pair = tcp().pair();
    let good = pair.target.transport.addresses().rails[0].clone();
    let region = pair.target.region.remote();
    let transport = &mut pair.initiator.transport;
    let mut corrupt = good.clone();
    let last = corrupt.len() - 1;
    corrupt[last] ^= 1;
    for name in [&good[..good.len() - 1], &good[..10], b"x".as_slice(), &corrupt] {
        let address = EndpointAddresses {
            rails: vec![name.to_vec()],
        };
        let error = transport.connect(&address).unwrap_err();
        assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
        assert!(error.message.contains("agent metadata is not valid"), "{error}");
    }
    let mut truncated = region;
    truncated.rails[0].key.pop();
    let error = transport.import(0, &truncated).unwrap_err();
    assert!(error.message.contains("memory key is not valid"), "{error}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn refuses_remote_memory_outside_a_region() {
    for setup in setups() {
        let mut pair = setup.pair();
        let remote = pair.remote(0);
        let refused = Err(PostError::Refused(libc::EINVAL));
        let at = |remote_offset| {
            PostRequest::new(
                Operation::Write {
                    remote,
                    remote_offset,
                },
                8,
            )
        };
        let mut unknown = remote;
        unknown.key += 1;
        let unknown = Operation::Read {
            remote: unknown,
            remote_offset: 0,
        };
        for invalid in [at(LENGTH as u64 - 7), at(u64::MAX), PostRequest::new(unknown, 8)] {
            assert_eq!(pair.initiator.post(invalid), refused);
        }
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests"]
fn rejects_a_message_that_is_longer_than_a_notification() {
    let mut pair = tcp().pair();
    let send = PostRequest::new(Operation::Send { immediate: 0 }, 8);
    let payload = PostRequest { length: 9, ..send };
    assert_eq!(
        pair.initiator.post(payload),
        Err(PostError::Refused(libc::EMSGSIZE))
    );
}
