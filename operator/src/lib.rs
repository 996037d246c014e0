//! The operator: the BenchmarkRun controller, its process and its metrics.
#![forbid(unsafe_code)]

pub mod cause;
pub mod client;
pub mod commands;
pub mod connection;
mod events;
pub mod manager;
pub mod metrics;
pub mod options;
mod readiness;
mod results;
pub mod run_controller;
mod shutdown;
pub mod terminal;
