//! Tests for the operator and the schema with a real API server and no nodes. `.ci/operator-test api` starts the API
//! server. Without an API server, the tests that need one fail.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its results"
)]

mod accepted;
mod applied;
mod clocks;
mod definition;
mod election;
mod forged;
mod killed;
mod malformed;
mod many;
mod metrics_access;
mod places;
mod prepare_uninstall;
mod reported;
mod results;
mod rules;
mod schema;
mod start;
