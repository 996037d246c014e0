//! What is refused, and with which reason.

use super::harness::{DEPTH, Ground, LENGTH, Wish, grounds};
use crate::transport::libfabric::Libfabric;
use crate::transport::libfabric::rules::errors::completion_failure;
use crate::transport::{CompletionKind, EndpointAddresses, Operation, PostError, Transport, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::bindings::{FI_EBUSY, FI_EINVAL, FI_EMSGSIZE};

fn refusal(ground: &Ground) -> TransportError {
    match Libfabric::open(&ground.config()) {
        Ok(_) => panic!("{ground:?} opened"),
        Err(error) => error,
    }
}

fn on(provider: LibfabricProvider) -> Ground {
    Ground {
        provider,
        library: None,
        rails: vec![],
    }
}

#[test]
fn a_machine_without_the_device_says_so_and_what_is_needed() {
    for provider in [LibfabricProvider::Efa, LibfabricProvider::Verbs] {
        let error = refusal(&on(provider));
        // An old library that would measure shared memory is refused before the device is looked for.
        let shared_memory = error.message.contains("FI_EFA_ENABLE_SHM_TRANSFER");
        assert!(
            error.reason == FailureReason::NoDevice || shared_memory,
            "{error}"
        );
        assert!(error.message.contains("Needed:") || shared_memory, "{error}");
    }
    let error = refusal(&Ground {
        rails: vec!["203.0.113.77"],
        ..on(LibfabricProvider::Tcp)
    });
    assert_eq!(error.reason, FailureReason::NoDevice, "{error}");
    assert!(error.message.contains("203.0.113.77"), "{error}");
}

#[test]
fn a_library_that_is_not_there_is_never_replaced() {
    let error = refusal(&Ground {
        library: Some("/nowhere".into()),
        ..on(LibfabricProvider::Shm)
    });
    assert_eq!(error.reason, FailureReason::LibraryNotFound, "{error}");
    assert!(error.message.contains("/nowhere"), "{error}");
}

#[test]
fn sources_must_fit_the_rails() {
    let mut config = on(LibfabricProvider::Tcp).config();
    config.rails = vec!["127.0.0.1".to_owned(), "127.0.0.2".to_owned()];
    assert_eq!(
        Libfabric::open(&config).err().unwrap().reason,
        FailureReason::Refused
    );
    let name = refusal(&Ground {
        rails: vec!["lo"],
        ..on(LibfabricProvider::Tcp)
    });
    assert!(name.message.contains("must be an IP address"), "{name}");
    let shm = refusal(&Ground {
        rails: vec!["127.0.0.1"],
        ..on(LibfabricProvider::Shm)
    });
    assert!(shm.message.contains("leave the rails' sources empty"), "{shm}");
}

#[test]
fn more_than_the_inject_limit_is_refused_and_not_sent_otherwise() {
    for ground in grounds() {
        let mut pair = ground.pair();
        let limits = pair.initiator.transport.facts().inject_limits;
        let remote = pair.remote(0);
        let inject = |operation, length| Wish {
            inject: true,
            ..Wish::new(operation, length)
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
        for wish in [send, write] {
            assert_eq!(
                pair.initiator.post(wish),
                Err(PostError::Refused(FI_EMSGSIZE)),
                "{ground:?}"
            );
        }
        let with_more = Wish {
            more: true,
            ..inject(Operation::Send { immediate: 0 }, 8)
        };
        assert_eq!(pair.initiator.post(with_more), Err(PostError::Refused(FI_EINVAL)));
        let remote_offset = 0;
        for silent in [
            Operation::Read {
                remote,
                remote_offset,
            },
            Operation::Write {
                remote,
                remote_offset,
            },
        ] {
            let refused = pair.initiator.post(inject(silent, 8));
            assert_eq!(refused, Err(PostError::Refused(FI_EINVAL)), "{silent:?}");
        }
    }
}

#[test]
fn what_does_not_exist_cannot_be_posted() {
    let mut pair = grounds()[0].pair();
    let operation = Operation::Write {
        remote: pair.remote(0),
        remote_offset: 0,
    };
    let refused = Err(PostError::Refused(FI_EINVAL));
    let wish = Wish::new(operation, 8);
    assert_eq!(pair.initiator.post(Wish { rail: 1, ..wish }), refused);
    assert_eq!(
        pair.initiator.post(Wish {
            token: DEPTH as u32,
            ..wish
        }),
        refused
    );
    assert_eq!(
        pair.initiator.post(Wish {
            offset: LENGTH as u64 - 7,
            ..wish
        }),
        refused
    );
    assert_eq!(
        pair.initiator.post(Wish {
            offset: u64::MAX,
            ..wish
        }),
        refused
    );
    let (initiator, target) = (&mut pair.initiator, &mut pair.target);
    let foreign = target.transport.post_receive(0, &initiator.region, 0, 8, 0);
    assert_eq!(foreign, refused, "memory of another transport");
}

#[test]
fn a_token_in_flight_cannot_be_used_again() {
    let mut pair = grounds()[0].pair();
    let target = &mut pair.target;
    target
        .transport
        .post_receive(0, &target.region, 0, 64, 3)
        .unwrap();
    let again = target.transport.post_receive(0, &target.region, 0, 64, 3);
    assert_eq!(again, Err(PostError::Refused(FI_EBUSY)));
    pair.post(Wish::new(Operation::Send { immediate: 1 }, 8));
    let seen = pair.until(|seen| !seen.target.is_empty());
    assert_eq!(
        seen.target,
        [CompletionKind::Received {
            token: 3,
            immediate: Some(1),
            length: 8
        }]
    );
    let target = &mut pair.target;
    target
        .transport
        .post_receive(0, &target.region, 0, 64, 3)
        .unwrap();
}

#[test]
fn a_peer_that_cannot_be_is_refused() {
    for ground in grounds() {
        let mut pair = ground.pair();
        let transport = &mut pair.initiator.transport;
        let names = |names: &[&[u8]]| EndpointAddresses {
            rails: names.iter().map(|name| name.to_vec()).collect(),
        };
        let error = transport.connect(&names(&[b"x", b"y"])).unwrap_err();
        assert!(error.message.contains("2 rails"), "{error}");
        let error = transport.connect(&names(&[b"x"])).unwrap_err();
        assert_eq!(error.reason, FailureReason::Refused, "{ground:?}: {error}");
    }
}

#[test]
fn shared_memory_that_is_not_in_this_mount_namespace_is_named() {
    for ground in grounds()
        .into_iter()
        .filter(|ground| ground.provider == LibfabricProvider::Shm)
    {
        let mut pair = ground.pair();
        let elsewhere = EndpointAddresses {
            rails: vec![b"fi_shm://4194305:0:0\0".to_vec()],
        };
        let error = pair.initiator.transport.connect(&elsewhere).unwrap_err();
        assert_eq!(error.reason, FailureReason::FabricUnreachable, "{error}");
        assert!(error.message.contains("/dev/shm"), "{error}");
    }
}

#[test]
fn a_write_to_memory_that_is_not_registered_fails_with_the_providers_words() {
    for ground in grounds()
        .into_iter()
        .filter(|ground| ground.provider == LibfabricProvider::Tcp)
    {
        let mut pair = ground.pair();
        let mut remote = pair.remote(0);
        remote.key = 0x7777;
        pair.post(Wish {
            token: 2,
            ..Wish::new(
                Operation::Write {
                    remote,
                    remote_offset: 0,
                },
                8,
            )
        });
        let error = pair.progress(|pair| {
            let _ = pair.target.poll();
            pair.initiator.poll().err()
        });
        assert!(
            error.message.starts_with("rail 0: the post with token 2: "),
            "{error}"
        );
        assert!(error.message.contains("the provider says"), "{error}");
    }
}

#[test]
fn a_peer_that_dies_is_a_lost_peer() {
    for ground in grounds()
        .into_iter()
        .filter(|ground| ground.provider == LibfabricProvider::Tcp)
    {
        let mut pair = ground.pair();
        let operation = Operation::Write {
            remote: pair.remote(0),
            remote_offset: 0,
        };
        pair.post(Wish::new(operation, 64));
        pair.until(|seen| seen.initiator.len() == 1);
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
                "{ground:?}: the loss was never seen"
            );
            token = (token + 1) % DEPTH as u32;
            match initiator.post(Wish {
                token,
                ..Wish::new(operation, 64)
            }) {
                Ok(()) | Err(PostError::Again | PostError::Refused(FI_EBUSY)) => {}
                Err(PostError::Failed(number)) => break completion_failure(number, 0),
                Err(other) => panic!("{ground:?}: {other:?}"),
            }
            if let Err(error) = initiator.poll() {
                println!("{ground:?}: {error}");
                break error.reason;
            }
            std::thread::yield_now();
        };
        assert_eq!(reason, FailureReason::PeerLost, "{ground:?}");
    }
}
