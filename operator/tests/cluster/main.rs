//! Tests of the operator in a cluster with a real scheduler, kubelets and runner pods that transfer data over TCP.
//! `.ci/operator-test cluster` starts the cluster and loads the images. Every test fails without one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its results"
)]

#[path = "../cluster_api/cluster.rs"]
#[allow(dead_code, reason = "shared with the tests that need only an API server")]
mod cluster;
#[path = "../cluster_api/operator.rs"]
#[allow(dead_code, reason = "shared with the tests that need only an API server")]
mod operator;
#[path = "../cluster_api/proxy.rs"]
#[allow(dead_code, reason = "shared with the tests that need only an API server")]
mod proxy;

mod custom_images;
mod deployed;
mod faults;
mod full_lifecycle;
mod images_and_environments;
mod kills;
mod lane;
mod lifecycle;
mod outcome;
mod permissions;
mod placement;
mod queued;
mod rbac;
mod start;
mod test_namespace;
mod testbed;
