//! Tests that run the operator in a cluster with a real scheduler, kubelets and runner pods that transfer data over
//! TCP. `.ci/operator-test cluster` starts the cluster and loads the images. Without a cluster, the tests that need one
//! fail.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its results"
)]

mod api_faults;
mod clocks;
mod command;
mod custom_images;
mod deployed;
mod dra;
mod example;
mod faults;
mod full_lifecycle;
mod images_and_environments;
mod kills;
mod kueue;
mod lane;
mod library_image;
mod lifecycle;
mod nodes;
mod outcome;
mod parameter_serving;
mod permissions;
mod placement;
mod queued;
mod rbac;
mod replay;
mod rpc;
mod segment_transfer;
mod settled;
mod start;
mod starway;
mod test_namespace;
mod testbed;
mod whole_cluster;
