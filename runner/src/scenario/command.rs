//! Benchmark commands: in each case, the target executes the server once, and the initiator executes the client once. The
//! runner does not measure times, but reads the result from the output of the tool.
//!
//! The server starts before the window of the case opens, and the client starts as soon as the server is ready. Both
//! use the CPUs of their workers. In round 0, an execution that is not measured makes the libraries of the tool log
//! their data path ([`observe`]). After a case, no process of the command is left on either side.

mod client;
mod execution;
mod observe;
mod server;
mod site;

pub(super) use client::Client;
pub(super) use observe::observe;
pub(super) use server::Server;
pub use site::CommandSite;
