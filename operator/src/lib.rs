//! The campaign and its executors: what a run compares, in which order, and what the answers mean.
#![forbid(unsafe_code)]

pub use ::campaign;

mod cause;
pub mod cli;
mod events;
pub mod local;
pub mod manifest;
pub mod metrics;
pub mod operator;
pub mod report;
pub mod run_controller;
