//! `fabricbench`: plans campaigns, executes them on this or other machines, and reports and compares their results.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod commands;
mod files;
pub mod imported;
mod json_difference;
mod local;
mod machines;
pub mod report;
mod shell;
