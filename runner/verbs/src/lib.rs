//! The verbs transport: reliable connections (RC) over ibverbs, without a library between the runner and the driver.
//!
//! `rdma-sys` links libibverbs, so this transport is not part of `fabricbench-runner`, which must start in images without
//! rdma-core. The binary of this crate is the same runner plus this transport.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of ibverbs; performs no I/O |
//! | `discovery` | selects the device and the source address (GID) of each rail |
//! | `open` | opens the rails and collects facts about them |
//! | `driver` | connects, registers, posts and polls on one rail |
//! | `close` | reports the call counts |
//! | `shared` | state that the rails share |
//! | `error` | converts failures to transport errors |
//! | `ffi` | all calls to the library |
//!
//! A rail has two queue pairs for each peer: one for messages, and one for reads and writes. A write with immediate
//! data consumes a receive from its queue pair, so the transport posts separate receives, without memory, for the
//! second queue pairs. All peers share the receives of each kind.
//!
//! Posts that are not the last post of a doorbell batch are chained, and passed to the driver together with the last
//! post in one `ibv_post_send` call. Injected posts are inline and have no separate completion.
#![cfg(feature = "verbs")]

mod close;
mod discovery;
mod driver;
mod error;
mod ffi;
mod open;
mod rules;
mod select;
mod shared;
#[cfg(test)]
mod tests;

pub use select::WithVerbs;

use runner::transport::rail_set::RailSet;

/// Queue pairs of one arm on one worker.
pub type Verbs = RailSet<ffi::Rail>;
