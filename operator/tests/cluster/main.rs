//! The operator against a whole cluster: a real scheduler, kubelets and runner pods that transfer over TCP. Run by
//! `make operator-test`, which brings the cluster up and loads the images; without one every test fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its figures are read by people"
)]

#[path = "../cluster_api/cluster.rs"]
#[allow(dead_code, reason = "shared with the tests that need an API server alone")]
mod cluster;
#[path = "../cluster_api/operator.rs"]
#[allow(dead_code, reason = "shared with the tests that need an API server alone")]
mod operator;
#[path = "../cluster_api/proxy.rs"]
#[allow(dead_code, reason = "shared with the tests that need an API server alone")]
mod proxy;

mod campaign;
mod deployed;
mod faults;
mod foreign;
mod kills;
mod kinds;
mod life;
mod lifecycle;
mod outcome;
mod placement;
mod queued;
mod rbac;
mod rights;
mod start;
mod testbed;
mod undisturbed;
