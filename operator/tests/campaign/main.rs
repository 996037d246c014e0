//! `fabricbench run` and `fabricbench report` as a user starts them: the real programs, on this machine, over real
//! libfabric and the loopback transport. All traffic stays on loopback addresses and in shared memory.
//!
//! One campaign runs at a time: two would load each other. `cargo build -p fabricbench-runner` first, where only this
//! package is tested.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it should be"
)]

mod against;
mod commands;
mod libraries;
mod lost;
mod manifest;
mod namespace;
mod output;
mod procedures;
mod processes;
mod program;
mod records;
mod refused;
mod resume;
mod several;
mod stored;
