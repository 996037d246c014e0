//! The libfabric transport: one reliable-datagram endpoint per rail, each with its own fabric, domain, address vector
//! and completion queue. The library is opened at run time, so one binary can measure the library of any container
//! image.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of each provider; performs no I/O |
//! | `discovery` | opens the library and selects the device of each rail |
//! | `open` | opens the rails and collects facts about the endpoints |
//! | `driver` | connects, registers, posts and polls on one rail |
//! | `error` | converts failures to transport errors |
//! | `ffi` | all calls to the library |

mod discovery;
mod driver;
mod error;
mod ffi;
mod open;
mod rules;
#[cfg(test)]
mod tests;

pub use rules::environment::required_variables as required_environment;

use super::rail_set::RailSet;

/// libfabric endpoints of one arm on one worker.
pub type Libfabric = RailSet<ffi::Rail>;
