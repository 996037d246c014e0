//! The core of every run, shared by the operator in a cluster and the local executor: plans, record checks, statistics,
//! verdicts and status. The code is synchronous and performs no I/O: it uses no clients, clocks, sockets or environment
//! variables.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod analyze;
pub mod collect;
pub mod compare;
pub mod compare_runs;
pub mod distinct;
mod evaluate;
#[cfg(test)]
mod fixture;
pub mod format;
pub mod pilot;
pub mod plan;
pub mod plan_check;
pub mod posting;
pub mod stats;
pub mod status;
pub mod stopping;
pub mod summarize;
pub mod validate;
pub mod workload;

pub use analyze::{advance, analyze, is_due};
pub use evaluate::{Evaluation, RunOutcome, evaluate};
