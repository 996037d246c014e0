//! `fabricbench`: plans campaigns, executes them on this or other machines, and reports and compares their results.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod commands;
mod files;
pub mod imported;
mod json_difference;
mod local;
mod machines;
#[allow(
    unreachable_pub,
    reason = "its files still have items that only the crate uses"
)]
pub mod report;
