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

pub(super) use client::Client;
pub(super) use observe::observe;
pub(super) use server::Server;
