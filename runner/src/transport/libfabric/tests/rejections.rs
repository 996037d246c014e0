//! Tests that invalid configurations, posts and peers are rejected with the correct reason.

use super::harness::{PostRequest, Setup, libraries, setups};
use crate::topology::{Device, DeviceClass, SystemRoots};
use crate::transport::conformance::DEPTH;
use crate::transport::libfabric::Libfabric;
use crate::transport::libfabric::rules::errors::completion_failure_reason;
use crate::transport::{EndpointAddresses, Operation, PostError, Transport, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::bindings::{FI_EBUSY, FI_EINVAL, FI_EMSGSIZE};
use libfabric_sys::{Identity, Library, Source, Version};
use std::path::PathBuf;

fn open_error(setup: &Setup) -> TransportError {
    match Libfabric::open(&setup.config()) {
        Ok(_) => panic!("{setup:?} opened"),
        Err(error) => error,
    }
}

fn system_setup(provider: LibfabricProvider) -> Setup {
    Setup {
        provider,
        library: None,
        rails: vec![],
    }
}

fn identity(library: &Option<PathBuf>) -> Identity {
    let source = library.clone().map_or(Source::Search, Source::Path);
    Library::open(&source).unwrap().identity().clone()
}

/// Expected failure reason and error text for `provider` on a machine without a device for it.
fn missing_device(provider: LibfabricProvider, version: Version) -> (FailureReason, String) {
    let name = provider.name();
    match provider {
        // Discovery rejects such an old library before it queries the devices.
        LibfabricProvider::Efa if version < Version::new(1, 21) => (
            FailureReason::OperationRejected,
            format!(
                "libfabric {version} would use shared memory instead of EFA for a peer on the same host: set \
                 FI_EFA_ENABLE_SHM_TRANSFER=0"
            ),
        ),
        LibfabricProvider::EfaDirect if version < Version::new(2, 1) => (
            FailureReason::NoDevice,
            format!(
                "libfabric {version} has no efa-direct fabric, which was added in 2.1. Use efa or a newer library"
            ),
        ),
        _ => (
            FailureReason::NoDevice,
            format!("no device found for provider {name}: libfabric {version} at "),
        ),
    }
}

/// Whether this machine has an RDMA device that `provider` may use.
fn has_device(provider: LibfabricProvider) -> bool {
    let devices = Device::all(DeviceClass::Rdma, &SystemRoots::default());
    let is_efa = |device: &Device| device.driver.as_deref() == Some("efa");
    devices
        .iter()
        .any(|device| provider == LibfabricProvider::Verbs || is_efa(device))
}

#[test]
fn reports_a_missing_device_and_its_requirements() {
    for (provider, required) in [
        (LibfabricProvider::Efa, "Required: an instance type with EFA, "),
        (
            LibfabricProvider::EfaDirect,
            "Required: an instance type with EFA, ",
        ),
        (
            LibfabricProvider::Verbs,
            "Required: an RDMA device with an IP address, ",
        ),
    ] {
        if has_device(provider) {
            println!(
                "skipped provider {}: this machine has a device for it",
                provider.name()
            );
            continue;
        }
        for library in libraries() {
            let version = identity(&library).version;
            let error = open_error(&Setup {
                library,
                ..system_setup(provider)
            });
            let (reason, text) = missing_device(provider, version);
            assert_eq!(error.reason, reason, "{error}");
            assert!(error.message.contains(&text), "{error}");
            let is_queried = text.starts_with("no device found");
            assert_eq!(error.message.contains(required), is_queried, "{error}");
        }
    }
}

#[test]
fn reports_a_provider_without_gpu_memory() {
    for library in libraries() {
        // tcp has devices on every machine, and supports no GPU memory.
        let mut config = Setup {
            library,
            ..system_setup(LibfabricProvider::Tcp)
        }
        .config();
        config.device_memory = true;
        let error = Libfabric::open(&config).err().unwrap();
        assert_eq!(error.reason, FailureReason::MemoryUnavailable, "{error}");
        assert!(error.message.contains("FI_HMEM"), "{error}");
        assert!(error.message.contains("supports GPU memory over TCP"), "{error}");
    }
}

#[test]
fn reports_an_address_without_an_interface() {
    let error = open_error(&Setup {
        rails: vec!["203.0.113.77"],
        ..system_setup(LibfabricProvider::Tcp)
    });
    assert_eq!(error.reason, FailureReason::NoDevice, "{error}");
    assert!(error.message.contains("203.0.113.77"), "{error}");
}

#[test]
fn rejects_unsuitable_rail_sources() {
    let name = open_error(&Setup {
        rails: vec!["no-such-interface"],
        ..system_setup(LibfabricProvider::Tcp)
    });
    assert_eq!(name.reason, FailureReason::NoDevice);
    assert!(
        name.message
            .contains("neither an IP address nor the name of a network interface"),
        "{name}"
    );
    let shm = open_error(&Setup {
        rails: vec!["127.0.0.1"],
        ..system_setup(LibfabricProvider::Shm)
    });
    assert!(shm.message.contains("leave the rail sources empty"), "{shm}");
}

#[test]
fn an_interface_name_selects_its_address() {
    let mut config = system_setup(LibfabricProvider::Tcp).config();
    config.rails = vec!["lo".to_owned()];
    let opened = Libfabric::open(&config).unwrap();
    let address = &opened.facts().rails[0].address;
    assert!(address.contains("127.0.0.1"), "{address}");
}

#[test]
fn refuses_injection_above_the_limit() {
    for setup in setups() {
        let mut pair = setup.pair();
        let limits = pair.initiator.transport.facts().inject_limits;
        let remote = pair.remote(0);
        let inject = |operation, length| PostRequest {
            inject: true,
            ..PostRequest::new(operation, length)
        };
        let send = inject(Operation::Send { immediate: 0 }, limits.send_bytes + 1);
        let write = inject(
            Operation::WriteImmediate {
                remote,
                remote_offset: 0,
                immediate: 0,
            },
            limits.write_bytes + 1,
        );
        for request in [send, write] {
            assert_eq!(
                pair.initiator.post(request),
                Err(PostError::Refused(FI_EMSGSIZE)),
                "{setup:?}"
            );
        }
        let with_more = PostRequest {
            more: true,
            ..inject(Operation::Send { immediate: 0 }, 8)
        };
        assert_eq!(pair.initiator.post(with_more), Err(PostError::Refused(FI_EINVAL)));
        let remote_offset = 0;
        for unannounced in [
            Operation::Read {
                remote,
                remote_offset,
            },
            Operation::Write {
                remote,
                remote_offset,
            },
        ] {
            let refused = pair.initiator.post(inject(unannounced, 8));
            assert_eq!(refused, Err(PostError::Refused(FI_EINVAL)), "{unannounced:?}");
        }
    }
}

#[test]
fn rejects_a_peer_in_another_mount_namespace() {
    for setup in setups()
        .into_iter()
        .filter(|setup| setup.provider == LibfabricProvider::Shm)
    {
        let mut pair = setup.pair();
        let elsewhere = EndpointAddresses {
            rails: vec![b"fi_shm://4194305:0:0\0".to_vec()],
        };
        let error = pair.initiator.transport.connect(&elsewhere).unwrap_err();
        assert_eq!(error.reason, FailureReason::FabricUnreachable, "{error}");
        assert!(error.message.contains("/dev/shm"), "{error}");
    }
}

#[test]
fn reports_the_provider_error_for_a_write_to_unregistered_memory() {
    for setup in setups()
        .into_iter()
        .filter(|setup| setup.provider == LibfabricProvider::Tcp)
    {
        let mut pair = setup.pair();
        let mut remote = pair.remote(0);
        remote.key = 0x7777;
        pair.post(PostRequest {
            token: 2,
            ..PostRequest::new(
                Operation::Write {
                    remote,
                    remote_offset: 0,
                },
                8,
            )
        });
        let error = pair.retry_until_some(|pair| {
            let _ = pair.target.poll();
            pair.initiator.poll().err()
        });
        assert!(
            error.message.starts_with("rail 0: the post with token 2: "),
            "{error}"
        );
        assert!(error.message.contains("provider error"), "{error}");
    }
}

#[test]
fn reports_a_closed_peer_as_lost() {
    for setup in setups()
        .into_iter()
        .filter(|setup| setup.provider == LibfabricProvider::Tcp)
    {
        let mut pair = setup.pair();
        let operation = Operation::Write {
            remote: pair.remote(0),
            remote_offset: 0,
        };
        pair.post(PostRequest::new(operation, 64));
        pair.poll_until(|observed| observed.initiator.len() == 1);
        let super::harness::Pair {
            mut initiator,
            target,
            ..
        } = pair;
        drop(target);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut token = 0;
        let reason = loop {
            assert!(
                std::time::Instant::now() < deadline,
                "{setup:?}: the loss was not detected"
            );
            token = (token + 1) % DEPTH as u32;
            match initiator.post(PostRequest {
                token,
                ..PostRequest::new(operation, 64)
            }) {
                Ok(()) | Err(PostError::Again | PostError::Refused(FI_EBUSY)) => {}
                Err(PostError::Failed(number)) => break completion_failure_reason(number, 0),
                Err(other) => panic!("{setup:?}: {other:?}"),
            }
            if let Err(error) = initiator.poll() {
                println!("{setup:?}: {error}");
                break error.reason;
            }
            std::thread::yield_now();
        };
        assert_eq!(reason, FailureReason::PeerLost, "{setup:?}");
    }
}
