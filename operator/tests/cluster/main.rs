//! The operator against a whole cluster: a real scheduler, kubelets and runner pods that transfer over TCP. Run by
//! `make operator-test`, which brings the cluster up and loads the images; without one every test fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../cluster_api/cluster.rs"]
#[allow(dead_code, reason = "shared with the tests that need an API server alone")]
mod cluster;
#[path = "../cluster_api/operator.rs"]
#[allow(dead_code, reason = "shared with the tests that need an API server alone")]
mod operator;

mod campaign;
mod deployed;
mod faults;
mod kinds;
mod lifecycle;
mod outcome;
mod placement;
mod testbed;
