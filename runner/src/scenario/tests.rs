//! Runs cases between two workers in one process.

mod cached_counters;
mod calls;
mod failures;
mod fixture;
mod geometry;
mod integrity;
mod observations;
mod open_loop;
mod parameter_serving;
mod ping_pong;
mod pinning;
mod polling;
mod segments;
mod transfer;
