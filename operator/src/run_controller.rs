//! One BenchmarkRun from `kubectl apply` to its verdict. Steps that talk to the cluster decide nothing; steps that decide
//! take no client, clock or environment.
//!
//! The pure ones: [`observed`] is all that may be looked at, [`kept`] what the status remembers, [`decide`] chooses the one
//! [`action`] that is done next, and [`build`] makes the objects of one attempt.

pub mod action;
pub mod build;
pub mod decide;
pub mod gate;
pub mod kept;
pub mod observed;
pub mod preflight;
pub mod reason;
pub mod record_chain;
