//! Support for tests with a real API server or with complete campaigns, and for the benchmark of the operator.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod cluster;
pub mod operator;
pub mod proxy;
pub mod rederive;
