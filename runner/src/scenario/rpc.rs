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

use crds::assignment::{RpcWorkload, WorkloadProperties};
use crds::record::CaseFailure;
use crds::v1alpha1::RpcPayload;

use host::Host;
use transport::{Callee, Caller};

use super::case::Role;
use super::case_protocol::{SideContext, measure};
use super::check::check_bytes;
use super::engine::{Engine, Setup};
use super::program::{Checked, Program};
use super::thread_report::ThreadReport;
use super::{isolated, ping_pong};
use crate::transport::Transport;

impl<T: Transport> Program<T> for &RpcWorkload {
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        let case = setup.case;
        if self.is_off_fabric(case.arm.channel) {
            return isolated::check(engine, case.role, |deadline| check::check(self, case, deadline));
        }
        check_bytes(engine, case, |engine, messages| {
            ping_pong::check(engine, case, messages)
        })
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        let case = setup.case;
        let deadline = engine.waiter.deadline();
        match side.role {
            Role::Initiator if self.is_off_fabric(case.arm.channel) => {
                measure(engine, Host::new(self, case), side)
            }
            Role::Target if self.is_off_fabric(case.arm.channel) => measure(engine, isolated::IdleSide, side),
            Role::Initiator => measure(engine, Caller::new(self, case, &deadline)?, side),
            Role::Target => measure(engine, Callee::new(self, case.size_bytes, &deadline)?, side),
        }
    }
}

/// Whether the reply to a payload of `bytes` bytes contains the payload.
fn is_echoed(bytes: u64) -> bool {
    RpcPayload::with_size(bytes).is_some_and(RpcPayload::is_echoed)
}

/// Number of messages in a sample: a request and a reply for each call.
fn message_count(workload: &RpcWorkload) -> u32 {
    2 * workload.hops
}
