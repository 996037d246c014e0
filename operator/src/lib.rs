//! The operator: the BenchmarkRun controller, its process and its metrics.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod cause;
mod client;
pub mod commands;
pub mod connection;
mod events;
mod manager;
pub mod metrics;
pub mod options;
mod readiness;
mod results;
pub mod run_controller;
mod shutdown;
pub mod terminal;
