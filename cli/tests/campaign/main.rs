//! End-to-end tests of `fabricbench run` and `fabricbench report` with the real binaries on this machine, over
//! libfabric and the loopback transport. All traffic uses loopback addresses or shared memory.
//!
//! Campaigns run one at a time, because concurrent campaigns would affect each other's measurements. To test only this
//! package, run `cargo build -p fabricbench-runner` first.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it checked"
)]

mod against;
mod command;
mod commands;
mod compared;
mod corrupted;
mod disturbed;
mod environment;
mod factors;
mod harness;
mod import;
mod kept_logs;
mod libraries;
mod log_lines;
mod lost_processes;
mod machines;
mod manifest;
mod many_to_many;

mod metadata;
mod mount_namespace;
mod multiple_runs;
mod network_namespace;
mod nixl;
mod output;
mod parameter_serving;
mod procedures;
mod processes;
mod records;
mod rederived;
mod rejected;
mod replay;
mod resolution;
mod resume;
mod rpc;
mod run_check;
mod segment_transfer;
mod settled;
mod starway;
mod stored_run;
mod sweep;
