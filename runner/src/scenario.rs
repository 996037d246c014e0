//! Runs one case: one scenario, size and arm between two workers, or several such cases concurrently (the flows of the
//! many-to-many pattern, [`run_flows`]).
//!
//! Both sides call [`run_case`] with the same case but different roles, and each receives the report for its own side.
//! `run_case` starts the measuring threads of the scenario, each with separate endpoints. Each thread executes the
//! following steps together with the corresponding thread of the peer. The threads exchange control messages: small
//! sends on rail 0 that are not included in the posting counters.
//!
//! 1. Both sides signal that they have started the case, and drain the receives posted for an earlier case.
//! 2. Both sides run the warm-up until all its operations are complete.
//! 3. The initiator sends `START`. The target reads its interface counters, opens its window and replies with
//!    `STARTED`. The initiator then opens its window, and its threads start posting immediately.
//! 4. The threads execute the timed region, in which they only post and poll: they do not allocate memory, log, take
//!    locks or inspect payload.
//! 5. When the operations of all its threads are complete, the initiator closes its window and sends `STOP`. The target
//!    closes its window and replies with `STOPPED`, and both sides read their interface counters again. If both sides
//!    post, each side closes its window only after the operations of both sides are complete.
//!
//! [`ping_pong`] and [`transfer`] define when a sample begins and ends. Every wait is bounded by the case's deadline,
//! and a side that abandons the case notifies the other side. An integrity pass has no warm-up and no window: it posts
//! the same operations and checks every byte (`integrity`).

mod budget;
mod case;
mod case_protocol;
mod case_report;
mod check;
mod command;
mod command_site;
pub(crate) mod engine;
mod flow_coordinator;
mod footprint;
mod gate;
mod geometry;
mod inbox;
mod incoming;
mod isolated;
mod observed;
mod outgoing;
mod parameter_serving;
mod phases;
mod ping;
mod ping_pong;
mod ping_state;
mod probe;
mod program;
mod programs;
mod rpc;
mod run;
mod samples;
mod schedule;
mod side_report;
mod thread_report;
mod transfer;
mod waiting;

pub use case::{Case, Role};
pub use case_report::{CaseReport, SideOutcome};
pub use command_site::CommandSite;
pub use flow_coordinator::FlowCoordinator;
pub use probe::probe;
pub use run::{run_case, run_flows};
pub use samples::CaseSamples;

#[cfg(test)]
mod tests;
