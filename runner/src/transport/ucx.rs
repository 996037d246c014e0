//! The UCX transport: one context and worker per rail, and one endpoint per peer. The library is opened at run time, so
//! one binary can measure the library of any container image.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of UCX; performs no I/O |
//! | `discovery` | opens the library and selects the device of each rail |
//! | `open` | opens the rails and collects facts about them |
//! | `peer` | connects peers, checks the lanes, and imports keys |
//! | `driver` | registers, posts and polls on one rail |
//! | `close` | closes the rails and reads the protocols that were used |
//! | `shared` | state that the rails share |
//! | `error` | converts failures to transport errors |
//! | `variables` | lists the settings of a library and its modules |
//! | `ffi` | all calls to the library |
//!
//! A send is a tagged message with the immediate data as its tag, or an active message with the immediate data as its
//! header. A write is a put followed by a flush of the endpoint, so its completion means that the data is in the
//! target's memory, unless the spec requests local completions. A write with immediate data sends the immediate data in
//! an active message after the flush.

mod close;
mod discovery;
mod driver;
mod error;
mod ffi;
mod open;
mod peer;
mod rules;
mod shared;
#[cfg(test)]
mod tests;
mod variables;

pub use rules::environment::required_variables as required_environment;
pub use variables::{ListedSettings, list_settings};

use super::rail_set::RailSet;

/// UCX endpoints of one arm on one worker.
pub type Ucx = RailSet<ffi::Rail>;
