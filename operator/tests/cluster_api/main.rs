//! The operator against a real API server, without nodes: what it writes, how often, and what becomes of it when it is
//! killed. Run by `make operator-test`, which brings that API server up; without one every test fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accepted;
mod applied;
mod cluster;
mod definition;
mod election;
mod killed;
mod malformed;
#[allow(dead_code, reason = "shared with the tests that need a whole cluster")]
mod operator;
#[allow(dead_code, reason = "shared with the tests that need a whole cluster")]
mod proxy;
mod results;
mod rules;
mod schema;
mod sizes;
mod start;
