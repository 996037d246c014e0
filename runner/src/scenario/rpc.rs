//! Calls between two isolated processes.
//!
//! A sample lasts from the first call to its reply. The calls of a sample are nested: a process that answers a call
//! other than the last one calls the other process before it replies. A request contains the payload; a reply contains
//! it if the payload is echoed, and its length otherwise.
//!
//! Over a transport ([`transport`]), host and extension are the initiator and the target of the pair. A message is
//! copied into registered memory before it is posted, and out of registered memory when it has arrived, just as in a
//! library that serializes its arguments. Over all other channels ([`host`]), the initiator is the host and starts the
//! extension on its machine, before the warm-up of each case; the target only participates in the steps of the case,
//! and otherwise sleeps.

mod check;
mod host;
mod local;
mod samples;
mod transport;

use crds::assignment::RpcWorkload;
use crds::v1alpha1::RpcPayload;

pub(super) use check::check;
pub(super) use host::Host;
pub(super) use transport::{Callee, Caller};

/// Whether the reply to a payload of `bytes` bytes contains the payload.
fn is_echoed(bytes: u64) -> bool {
    RpcPayload::with_size(bytes).is_some_and(RpcPayload::is_echoed)
}

/// Number of messages in a sample: a request and a reply for each call.
fn message_count(workload: &RpcWorkload) -> u32 {
    2 * workload.hops
}
