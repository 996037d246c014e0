//! Keeps many transfers in flight, from the initiator to the target or in both directions.
//!
//! A thread keeps a window of transfers in flight and posts them in bursts, each as soon as there is a free slot for
//! every transfer in the burst. A sample starts before the first chunk of the transfer is posted and ends at the poll
//! that observes that the transfer is complete:
//!
//! - `Write`: the completion of each chunk has been read, which means that the data is in the target's memory, unless the
//!   transport completes writes locally. Writes are never injected, because the arrival of an injected write cannot be
//!   observed.
//! - `Read`: the completion of each chunk has been read.
//! - `Send`, `WriteImmediate`: a credit from the target has confirmed the arrival of the transfer, and the completion
//!   of each chunk has been read. The target sends a credit every half window, so a sample includes the wait for the
//!   next credit, which lasts up to half a window of transfers. If the window is 1, every transfer is timed
//!   individually. If it is larger, the side that posts requests a final credit at the end. This credit is the last
//!   message of the timed region.
//!
//! A workload can request a flush after each transfer ([`flushed`]), and it can request reads of the written memory
//! after each burst of writes ([`read_back`]).
//!
//! Throughput is the payload divided by the time from the first post of any thread to the last completion of any
//! thread. If the transport completes writes locally, a flush follows the last write of each thread, and the time extends
//! to its completion. In a closed loop, both directions of a bidirectional transfer have windows in which both transfer
//! ([`simultaneous`]).

mod check;
mod check_read_back;
mod flushed;
mod open_loop;
mod poster;
mod read_back;
mod simultaneous;

use crds::assignment::{TransferWorkload, WorkloadProperties};
use crds::record::CaseFailure;

use poster::{PassiveTarget, Poster};
use simultaneous::SimultaneousPoster;

use super::case::Role;
use super::case_protocol::{SideContext, measure};
use super::check::check_bytes;
use super::engine::{Engine, Setup, data_seed};
use super::program::{Checked, Program};
use super::thread_report::ThreadReport;
use crate::transport::Transport;

impl<T: Transport> Program<T> for &TransferWorkload {
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        let case = setup.case;
        check_bytes(engine, case, |engine, transfers| {
            if self.reads_back() {
                return check_read_back::check(engine, case, transfers);
            }
            let mut received = check::check(engine, case, Role::Initiator, transfers)?;
            if self.is_bidirectional() {
                received += check::check(engine, case, Role::Target, transfers)?;
            }
            Ok(received)
        })
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        match (side.role, side.phases) {
            (Role::Initiator, Some(phases)) => {
                measure(engine, SimultaneousPoster::for_flow(self, phases)?, side)
            }
            (role, _) if side.bidirectional && self.open_loop.is_none() => {
                measure(engine, SimultaneousPoster::for_direction(self, role), side)
            }
            (Role::Target, _) if !side.bidirectional => measure(engine, PassiveTarget, side),
            (role, _) => {
                let seed = data_seed(setup.case.seed, role, side.thread);
                measure(engine, Poster::new(self, seed), side)
            }
        }
    }
}
