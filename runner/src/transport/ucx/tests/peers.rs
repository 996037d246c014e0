//! Tests that the loss of a peer is reported.

use super::harness::{DEPTH, PostRequest, tcp};
use crate::transport::ucx::rules::errors::completion_failure_reason;
use crate::transport::{Operation, PostError, Transport};
use crds::record::FailureReason;
use std::time::{Duration, Instant};

#[test]
#[ignore = "run by every_library"]
fn reports_a_closed_peer_as_lost() {
    for operation in [0, 1, 2] {
        let mut pair = tcp().pair();
        let remote = pair.remote(0);
        let operation = match operation {
            0 => Operation::Write {
                remote,
                remote_offset: 0,
            },
            1 => Operation::Read {
                remote,
                remote_offset: 0,
            },
            _ => Operation::Send { immediate: 1 },
        };
        let target = &mut pair.target;
        target.transport.post_receive(0, &target.region, 0, 64, 0).unwrap();
        pair.post(PostRequest::new(operation, 64));
        pair.poll_until(|observed| observed.initiator.len() == 1);
        let super::harness::Pair {
            mut initiator, target, ..
        } = pair;
        drop(target);
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut token = 0;
        let reason = loop {
            assert!(Instant::now() < deadline, "{operation:?}: the loss was not detected");
            token = (token + 1) % DEPTH as u32;
            match initiator.post(PostRequest {
                token,
                ..PostRequest::new(operation, 64)
            }) {
                Ok(()) | Err(PostError::Again | PostError::Refused(libc::EBUSY)) => {}
                Err(PostError::Failed(libc::ECONNRESET | libc::ETIMEDOUT | libc::ENOTCONN)) => {
                    break completion_failure_reason(ucx_sys::bindings::UCS_ERR_CONNECTION_RESET);
                }
                Err(other) => panic!("{operation:?}: {other:?}"),
            }
            if let Err(error) = initiator.poll() {
                println!("{operation:?}: {error}");
                break error.reason;
            }
            std::thread::yield_now();
        };
        assert_eq!(reason, FailureReason::PeerLost, "{operation:?}");
    }
}
