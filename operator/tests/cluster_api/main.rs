//! Tests of the operator with a real API server and no nodes: its writes, their number, and recovery after the operator
//! is killed. `.ci/operator-test api` starts the API server. Without an API server, every test fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accepted;
mod applied;
mod definition;
mod election;
mod killed;
mod malformed;
mod results;
mod rules;
mod schema;
mod start;
