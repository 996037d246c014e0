//! One BenchmarkRun from `kubectl apply` to its verdict. Steps that talk to the cluster decide nothing; steps that decide
//! take no client, clock or environment.
//!
//! The pure ones: [`observed`] is all that may be looked at, [`kept`] what the status remembers, [`decide`] chooses the one
//! [`action`] that is done next, and [`build`] makes the objects of one attempt.

mod act;
pub mod action;
mod apply;
pub mod build;
mod context;
mod controller;
pub mod decide;
mod follow_logs;
pub mod gate;
pub mod kept;
pub mod limits;
mod observe;
pub mod observed;
pub mod preflight;
mod queue;
mod reconcile;
pub mod record_chain;
mod records;
mod session;
mod status;
mod store;
mod turns;
mod unreadable;
mod update_status;

pub use controller::ControllerError;
pub(crate) use controller::run;
pub(crate) use records::RecordStore;
pub use store::RunKey;
