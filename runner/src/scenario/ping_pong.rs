//! Ping-pong: one message at a time is sent and echoed.
//!
//! The initiator posts a message of the case's size with immediate data. When every chunk has arrived, the target posts
//! a message of the same size back, according to the same policy. A sample ends when the last chunk of the echo has
//! arrived, and the next sample begins at that moment, so that the clock is read only once for each round trip. The
//! value of a sample is half its duration: the one-way latency, measured without synchronized clocks. An injected
//! message is timed in the same way, because the time until the inject call returns would measure only a copy.
//! Completions of local posts are read as they arrive. A side waits for them only if it needs the slot of an earlier
//! message.

mod check;
mod sides;

use crds::assignment::PingPongWorkload;
use crds::record::CaseFailure;

pub(super) use check::check;
use sides::{Initiator, Target};

use super::case::Role;
use super::case_protocol::{SideContext, measure};
use super::check::check_bytes;
use super::engine::{Engine, Setup};
use super::program::{Checked, Program};
use super::thread_report::ThreadReport;
use crate::transport::Transport;

impl<T: Transport> Program<T> for &PingPongWorkload {
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        check_bytes(engine, setup.case, |engine, messages| {
            check(engine, setup.case, messages)
        })
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        _setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        match side.role {
            Role::Initiator => measure(engine, Initiator::new(self), side),
            Role::Target => measure(engine, Target, side),
        }
    }
}
