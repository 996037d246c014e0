//! Benchmark commands: in each case, the target executes the server once, and the initiator executes the client once.
//! The runner does not measure times, but reads the result from the tool's output.
//!
//! The server starts before the case's window opens, and the client starts as soon as the server is ready. Both use the
//! CPUs of their workers. In round 0, an unmeasured run makes the tool's libraries log their data path ([`observe`]).
//! After a case, no process of the command is left on either side.

mod client;
mod execution;
mod observe;
mod server;

use crds::assignment::CommandWorkload;
use crds::record::CaseFailure;

use client::Client;
use server::Server;

use super::case::Role;
use super::case_protocol::{SideContext, measure};
use super::engine::{Engine, Setup};
use super::program::{Checked, Program};
use super::thread_report::ThreadReport;
use crate::transport::Transport;

impl<T: Transport> Program<T> for &CommandWorkload {
    fn check(&self, engine: &mut Engine<'_, T>, setup: &Setup<'_>) -> Result<Checked, CaseFailure> {
        observe::observe(engine, setup.case, self, &setup.facts)
    }

    fn run(
        &self,
        engine: &mut Engine<'_, T>,
        setup: &Setup<'_>,
        side: SideContext<'_>,
    ) -> Result<ThreadReport, CaseFailure> {
        match side.role {
            Role::Initiator => measure(engine, Client::new(self, setup.case, &setup.facts), side),
            Role::Target => measure(engine, Server::new(self, setup.case, &setup.facts), side),
        }
    }
}
