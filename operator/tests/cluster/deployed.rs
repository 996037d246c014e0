//! The operator in a pod, deployed from the manifests that users apply, with its service account, limits and restricted
//! security context.

use std::path::PathBuf;

use super::nodes::share_nodes;
use super::test_namespace::{TIMEOUT, TestNamespace};
use super::testbed::{kubectl, undo};
use test_support::cluster::{create_namespace, root, run};

/// An applied manifest. Its objects are deleted when it is dropped.
pub struct AppliedManifest(PathBuf);

impl AppliedManifest {
    pub fn new(manifest: &str) -> Self {
        let path = root().join("operator/deploy").join(manifest);
        kubectl(&["apply", "-f", path.to_str().unwrap()]);
        Self(path)
    }
}

impl Drop for AppliedManifest {
    fn drop(&mut self) {
        undo(&[
            "kubectl",
            "delete",
            "--ignore-not-found",
            "-f",
            self.0.to_str().unwrap(),
        ]);
    }
}

/// Waits until the operator's Deployment is available.
pub fn wait_until_available(namespace: &str) {
    let timeout = format!("--timeout={}s", TIMEOUT.as_secs());
    let deployment = "deployment/fabricbench-operator";
    kubectl(&[
        "-n",
        namespace,
        "wait",
        "--for=condition=Available",
        &timeout,
        deployment,
    ]);
}

#[tokio::test]
async fn runs_as_a_pod_for_one_namespace() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    // The manifest does not contain the CRD; `create_namespace` installs it.
    let other = create_namespace(&namespace.client).await;
    let _applied = AppliedManifest::new("namespaced.yaml");
    wait_until_available("benchmarks");
    let own = TestNamespace::existing("benchmarks", &namespace.client, &nodes);
    own.create(&run("deployed")).await;
    let status = own.wait_for_completion("deployed").await;
    assert!(
        status.warnings.iter().any(|warning| warning.contains("node")),
        "{:?}",
        status.warnings
    );
    let elsewhere = TestNamespace::existing(&other, &namespace.client, &nodes);
    elsewhere.create(&run("elsewhere")).await;
    kubectl(&["-n", "benchmarks", "delete", "bench", "deployed"]);
    assert_eq!(
        elsewhere.status("elsewhere").await.state,
        None,
        "the operator must ignore other namespaces"
    );
    elsewhere.delete().await;
    namespace.delete().await;
}
