//! The NIXL transport: one agent with one backend per rail. The library is opened at run time, so one binary can measure
//! the library of any container image.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of NIXL; performs no I/O |
//! | `discovery` | opens the library and selects the device of each rail |
//! | `open` | opens the agents and collects facts about them |
//! | `driver` | connects, imports, registers, posts and polls on one rail |
//! | `close` | reports the transfer steps |
//! | `error` | converts failures to transport errors |
//! | `ffi` | all calls to the library |
//!
//! Reads and writes are transfer requests. A write with immediate data is a request with a notification, which the
//! agent sends after the data. NIXL has no messages with a payload, so the scenarios' control messages are sent as
//! notifications. Longer messages are rejected.
//!
//! NIXL's interface does not expose the UCX backend's UCX instance, so it is unknown which lanes its endpoints have and
//! whether it emulates operations.

mod close;
mod discovery;
mod driver;
mod error;
mod ffi;
mod open;
mod rules;
#[cfg(test)]
mod tests;

use super::rail_set::RailSet;

/// Agents of one arm on one worker.
pub type Nixl = RailSet<ffi::Rail>;
