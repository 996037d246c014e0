//! Tests that UCX endpoints release their resources and that posting does not allocate in the runner. UCX's own
//! allocations are not counted.
#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "common/resources.rs"]
mod resources;

use crds::v1alpha1::{TransportSpec, Ucx as Spec, UcxTransport};
use fabricbench_runner::transport::OpenConfig;
use fabricbench_runner::transport::ucx::Ucx;

#[test]
fn endpoints_release_resources_and_posts_do_not_allocate() {
    for (transport, rails) in [
        (UcxTransport::Tcp, vec!["127.0.0.1".to_owned()]),
        (UcxTransport::Sm, vec![]),
    ] {
        resources::check::<Ucx>(&OpenConfig {
            rails,
            ..OpenConfig::polled(TransportSpec::Ucx(Spec::new(vec![transport], 1)), 16)
        });
    }
}
