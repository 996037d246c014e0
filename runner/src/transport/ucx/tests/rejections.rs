//! Tests that invalid configurations, posts and peers are rejected with the correct reason.

use super::harness::{
    LENGTH, Pair, PostRequest, Setup, pattern, setups, shared_memory, tcp, with_library_memory,
};
use crate::transport::ucx::Ucx;
use crate::transport::{
    EndpointAddresses, Operation, PostError, Region, RemoteRegion, Transport, TransportError,
};
use crds::record::FailureReason;
use crds::v1alpha1::{
    Answer, TransferOperation, UcxAllocation, UcxEmulation, UcxErrorHandling, UcxSetting, UcxTransport,
};

fn open_error(setup: &Setup) -> TransportError {
    match Ucx::open(&setup.config()) {
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
    std::os::unix::fs::symlink(libm, directory.path().join("libucp.so.0")).unwrap();
    let mut config = tcp().config();
    config.library = Some(directory.path().into());
    let error = Ucx::open(&config).err().unwrap();
    assert_eq!(error.reason, FailureReason::LibraryNotFound, "{error}");
    assert!(error.message.ends_with("it is not UCX 1.13 or later"), "{error}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn rejects_a_device_that_does_not_exist() {
    let error = open_error(&Setup {
        rails: vec!["no-such-interface"],
        ..tcp()
    });
    assert_eq!(error.reason, FailureReason::NoDevice, "{error}");
    assert!(error.message.contains("no-such-interface"), "{error}");
    let error = open_error(&Setup {
        rails: vec!["203.0.113.77"],
        ..tcp()
    });
    assert_eq!(error.reason, FailureReason::NoDevice, "{error}");
    assert!(error.message.contains("203.0.113.77"), "{error}");
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn rejects_a_transport_without_a_device() {
    let mut setup = tcp();
    setup.rails = Vec::new();
    setup.spec.transports = vec![UcxTransport::Tcp, UcxTransport::Dc];
    let error = open_error(&setup);
    assert_eq!(error.reason, FailureReason::NoDevice, "{error}");
    assert!(
        error
            .message
            .contains("UCX has no dc transport; its context contains "),
        "{error}"
    );
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn rejects_unsuitable_rail_sources() {
    let shared = open_error(&Setup {
        rails: vec!["127.0.0.1"],
        ..shared_memory()
    });
    assert!(
        shared.message.contains("leave the rail sources empty"),
        "{shared}"
    );
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn rejects_invalid_settings() {
    let with = |name: &str, value: &str| {
        let mut setup = tcp();
        setup.spec.settings = vec![UcxSetting {
            name: name.to_owned(),
            value: value.to_owned(),
        }];
        open_error(&setup)
    };
    let field = with("TLS", "all");
    assert!(field.message.contains("settings contains TLS"), "{field}");
    let invalid = with("RNDV_THRESH", "many");
    assert_eq!(invalid.reason, FailureReason::OperationRejected, "{invalid}");
    assert!(
        invalid.message.contains("does not accept RNDV_THRESH=many"),
        "{invalid}"
    );
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn rejects_truncated_and_corrupt_addresses_and_keys() {
    for setup in setups() {
        let mut pair = setup.pair();
        let good = pair.target.transport.addresses().rails[0].clone();
        let region = pair.target.region.remote();
        let transport = &mut pair.initiator.transport;
        let address = |name: &[u8]| EndpointAddresses {
            rails: vec![name.to_vec()],
        };
        let mut corrupt = good.clone();
        let last = corrupt.len() - 1;
        corrupt[last] ^= 1;
        for name in [&good[..good.len() - 1], &good[..10], b"x".as_slice(), &corrupt] {
            let error = transport.connect(&address(name)).unwrap_err();
            assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
            assert!(error.message.contains("worker address is not valid"), "{error}");
        }
        let mut truncated = region.clone();
        truncated.rails[0].key.pop();
        let error = transport.import(0, &truncated).unwrap_err();
        assert!(error.message.contains("memory key is not valid"), "{error}");
        let mut elsewhere = region.clone();
        elsewhere.rails[0].address += 8;
        let longer = RemoteRegion {
            length: region.length + 1,
            ..region
        };
        for contradiction in [elsewhere, longer] {
            let error = transport.import(0, &contradiction).unwrap_err();
            assert!(error.message.contains("but its key belongs to"), "{error}");
        }
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn rejects_emulated_operations_unless_they_are_allowed() {
    for setup in setups() {
        let mut denied = setup.clone();
        denied.spec.emulation = UcxEmulation::Deny;
        let pair = denied.pair();
        let transport = &pair.initiator.transport;
        assert_eq!(transport.check_operation(0, TransferOperation::Send), Ok(()));
        let reads = transport.check_operation(0, TransferOperation::Read);
        let writes = transport.check_operation(0, TransferOperation::Write);
        let old = !transport.facts().settings.contains_key("PROTO_EMULATION_ENABLE");
        let is_tcp = !setup.rails.is_empty();
        let reports_peer_loss = setup.spec.error_handling() == UcxErrorHandling::Peer;
        // UCX 1.13 emulates operations on memory that it did not allocate.
        let emulated_by_old = old && (is_tcp || setup.spec.allocation == UcxAllocation::Caller);
        assert_eq!(reads.is_err(), emulated_by_old || is_tcp, "{setup:?}: {reads:?}");
        assert_eq!(
            writes.is_err(),
            emulated_by_old || reports_peer_loss,
            "{setup:?}: {writes:?}"
        );
        if let Err(error) = reads {
            assert_eq!(error.reason, FailureReason::OperationRejected);
            assert!(
                error.message.contains("set spec.transport.ucx.emulation: Allow"),
                "{error}"
            );
        }
        let allowed = setup.pair();
        for operation in [TransferOperation::Read, TransferOperation::Write] {
            assert_eq!(allowed.initiator.transport.check_operation(0, operation), Ok(()));
        }
    }
}

/// One peer is reached over shared memory and sockets, the other only over sockets.
#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn lanes_of_one_peer_do_not_affect_another() {
    let mut both = tcp();
    both.spec.transports = vec![UcxTransport::Tcp, UcxTransport::Sm];
    both.spec.error_handling = Some(UcxErrorHandling::None);
    both.spec.emulation = UcxEmulation::Deny;
    let mut sockets = both.clone();
    sockets.spec.transports = vec![UcxTransport::Tcp];
    let mut config = both.config();
    config.peers = 2;
    for sockets_first in [false, true] {
        let mut initiator = Ucx::open(&config).unwrap();
        let near = Ucx::open(&both.config()).unwrap();
        let far = Ucx::open(&sockets.config()).unwrap();
        let (near, far) = if sockets_first {
            let far = initiator.connect(far.addresses()).unwrap();
            (initiator.connect(near.addresses()).unwrap(), far)
        } else {
            let near = initiator.connect(near.addresses()).unwrap();
            (near, initiator.connect(far.addresses()).unwrap())
        };
        let old = !initiator.facts().settings.contains_key("PROTO_EMULATION_ENABLE");
        let reads = |peer| initiator.check_operation(peer, TransferOperation::Read);
        // UCX 1.13 emulates operations on memory that it did not allocate.
        assert_eq!(reads(near).is_err(), old, "{:?}", reads(near));
        let error = reads(far).unwrap_err();
        assert!(
            error.message.contains("tcp/lo") && !error.message.contains("memory"),
            "{error}"
        );
        assert_eq!(initiator.facts().offload.emulated_reads, Some(Answer::True));
        let unknown = initiator.check_operation(2, TransferOperation::Read);
        assert!(unknown.is_err(), "{unknown:?}");
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn shared_memory_refuses_error_handling_by_default() {
    let mut setup = shared_memory();
    setup.spec.error_handling = Some(UcxErrorHandling::Peer);
    let error = Pair::open(&setup.config(), None).err().unwrap();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
    assert!(error.message.contains("errorHandling: Peer"), "{error}");
    assert!(error.message.contains("POSIX_ERROR_HANDLING"), "{error}");
}

/// Runs in a process whose environment enables shared-memory error handling.
#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn shared_memory_with_error_handling() {
    if std::env::var_os("UCX_POSIX_ERROR_HANDLING").is_none() {
        return;
    }
    let mut setup = shared_memory();
    setup.spec.error_handling = Some(UcxErrorHandling::Peer);
    let mut pair = setup.pair();
    pair.initiator.fill(0, &pattern(4096, 3));
    let operation = Operation::Write {
        remote: pair.remote(0),
        remote_offset: 0,
    };
    pair.post(PostRequest::new(operation, 4096));
    pair.poll_until(|observed| !observed.initiator.is_empty());
    assert_eq!(pair.target.bytes(0, 4096), pattern(4096, 3));
    let facts = pair.initiator.transport.facts();
    assert_eq!(facts.error_handling.as_deref(), Some("peer"));
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn allocates_memory_for_one_rail_only() {
    let mut setup = with_library_memory(tcp());
    setup.rails = vec!["127.0.0.1", "127.0.0.2"];
    let mut transport = Ucx::open(&setup.config()).unwrap();
    let error = transport.allocate(4096).err().unwrap();
    assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
    assert!(error.message.contains("set rails to 1"), "{error}");
    let mut transport = Ucx::open(&with_library_memory(tcp()).config()).unwrap();
    for bytes in [0, 1 << 50] {
        let error = transport.allocate(bytes).err().unwrap();
        assert_eq!(
            error.reason == FailureReason::NotEnoughMemory,
            bytes > 0,
            "{error}"
        );
    }
}

#[test]
#[ignore = "run by runs_the_ignored_tests_with_each_library"]
fn refuses_remote_memory_outside_a_region() {
    let mut pair = tcp().pair();
    let remote = pair.remote(0);
    let operation = Operation::Write {
        remote,
        remote_offset: 0,
    };
    let refused = Err(PostError::Refused(libc::EINVAL));
    let request = PostRequest::new(operation, 8);
    let beyond = |remote_offset| PostRequest {
        operation: Operation::Write {
            remote,
            remote_offset,
        },
        ..request
    };
    let mut unknown = remote;
    unknown.key += 1;
    let unknown = PostRequest {
        operation: Operation::Read {
            remote: unknown,
            remote_offset: 0,
        },
        ..request
    };
    for invalid in [beyond(LENGTH as u64 - 7), beyond(u64::MAX), unknown] {
        assert_eq!(pair.initiator.post(invalid), refused);
    }
}
