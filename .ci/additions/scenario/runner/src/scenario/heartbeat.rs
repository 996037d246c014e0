//! Heartbeat: a ping-pong with sends, without a warm-up.

use crds::assignment::{Extent, HeartbeatWorkload, PingPongWorkload};
use crds::record::CaseFailure;
use crds::v1alpha1::PingPongOperation;

use super::case_protocol::SideContext;
use super::engine::{Engine, Setup};
use super::program::{Checked, Program};
use super::thread_report::ThreadReport;
use crate::transport::Transport;

fn ping_pong(work: &HeartbeatWorkload) -> PingPongWorkload {
    PingPongWorkload {
        operation: PingPongOperation::Send,
        measured: work.measured,
        warmup: Extent::Iterations(0),
    }
}

impl<T: Transport> Program<T> for &HeartbeatWorkload {
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        Program::<T>::check(&&ping_pong(self), engine, setup)
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        Program::<T>::run(&&ping_pong(self), engine, setup, side)
    }
}
