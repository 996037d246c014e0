//! Support for the tests of the operator with a real API server and for its benchmark.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod cluster;
pub mod operator;
pub mod proxy;
