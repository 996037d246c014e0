//! Tests that libfabric endpoints release their resources and that posting does not allocate.
#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

#[path = "common/resources.rs"]
mod resources;

use crds::v1alpha1::{Libfabric as Spec, LibfabricProvider, TransportSpec};
use fabricbench_runner::transport::OpenConfig;
use fabricbench_runner::transport::libfabric::Libfabric;

#[test]
fn endpoints_release_resources_and_posts_do_not_allocate() {
    for provider in [
        LibfabricProvider::Tcp,
        LibfabricProvider::TcpRxm,
        LibfabricProvider::Shm,
    ] {
        let rails = if provider == LibfabricProvider::Shm {
            vec![]
        } else {
            vec!["127.0.0.1".to_owned()]
        };
        resources::check::<Libfabric>(&OpenConfig {
            rails,
            ..OpenConfig::polled(TransportSpec::Libfabric(Spec { provider, rails: 1 }), 16)
        });
    }
}
