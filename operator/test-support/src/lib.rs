//! Support for tests that use a real API server or complete campaigns, and for the operator benchmark.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod bad_manifests;
pub mod cluster;
pub mod flags;
pub mod operator;
pub mod proxy;
pub mod rederive;
