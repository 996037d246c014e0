//! `fabricbench`: plans campaigns, executes them on this or other machines, and reports and compares their results.
#![forbid(unsafe_code)]

pub mod commands;
mod files;
pub mod imported;
mod json_difference;
pub mod local;
pub mod machines;
pub mod report;
