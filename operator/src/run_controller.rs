//! The BenchmarkRun controller. Modules that perform I/O make no decisions, and modules that make decisions use no
//! client, clock or environment.
//!
//! `reconcile` calls the steps in order: `observe` collects the inputs of a decision into [`observed`], `reserve`
//! registers the run's placement request, [`decide`] chooses the next [`action`], and `execute` executes it, using the
//! objects built by [`build`]. The status persists the [`execution_state`] between reconciliations.

mod action;
mod admission;
mod analyze;
mod apply;
pub mod attempt_id;
pub mod build;
mod claims;
mod compute;
mod context;
mod controller;
mod decide;
mod error;
mod execute;
mod execution_state;
mod follow_logs;
mod observe;
pub mod observed;
mod policy_check;
mod preflight;
mod queue;
mod recompute;
mod reconcile;
pub mod record_chain;
mod records;
mod reservations;
mod reserve;
mod session;
mod snapshot;
mod status;
mod store;
mod unreadable;
mod update_status;

pub(crate) use controller::ControllerError;
pub(crate) use controller::run;
pub use recompute::{recomputed, recomputed_rejection};
pub use records::RecordStore;
pub use status::Planned;
pub use store::RunKey;
