//! Campaigns: planning, execution on one machine and in a cluster, evaluation and reports.
#![forbid(unsafe_code)]

pub use ::campaign;

mod cause;
pub mod cli;
mod events;
pub mod local;
pub mod manager;
pub mod manifest;
pub mod metrics;
pub mod report;
pub mod run_controller;
