//! The operator as a pod, from the manifests that users apply: with its own account, limits and restricted context.

use std::path::PathBuf;

use super::campaign::{PATIENCE, Place};
use super::cluster::{namespace, root, run};
use super::testbed::kubectl;

/// A manifest that is taken away again when dropped.
struct Applied(PathBuf);

impl Applied {
    fn new(manifest: &str) -> Self {
        let path = root().join("operator/deploy").join(manifest);
        kubectl(&["apply", "-f", path.to_str().unwrap()]);
        Self(path)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        kubectl(&["delete", "--ignore-not-found", "-f", self.0.to_str().unwrap()]);
    }
}

fn available(namespace: &str) {
    let patience = format!("--timeout={}s", PATIENCE.as_secs());
    let deployment = "deployment/fabricbench-operator";
    kubectl(&[
        "-n",
        namespace,
        "wait",
        "--for=condition=Available",
        &patience,
        deployment,
    ]);
}

#[tokio::test]
async fn as_a_pod_for_the_whole_cluster() {
    let place = Place::new().await;
    let _applied = Applied::new("cluster.yaml");
    available("fabricbench-system");
    place.create(&run("deployed")).await;
    place.completed("deployed").await;
    println!(
        "{}",
        kubectl(&[
            "-n",
            "fabricbench-system",
            "logs",
            "deployment/fabricbench-operator"
        ])
    );
    println!("{}", kubectl(&["-n", &place.namespace, "get", "events"]));
    place.leave().await;
}

#[tokio::test]
async fn as_a_pod_with_roles_only() {
    let place = Place::new().await;
    // The resource itself is not in the manifest.
    let other = namespace(&place.client).await;
    let _applied = Applied::new("namespaced.yaml");
    available("benchmarks");
    let own = Place::of("benchmarks", &place.client);
    own.create(&run("deployed")).await;
    let status = own.completed("deployed").await;
    assert!(
        status.warnings.iter().any(|warning| warning.contains("node")),
        "{:?}",
        status.warnings
    );
    let elsewhere = Place::of(&other, &place.client);
    elsewhere.create(&run("elsewhere")).await;
    kubectl(&["-n", "benchmarks", "delete", "bench", "deployed"]);
    assert_eq!(
        elsewhere.status("elsewhere").await.state,
        None,
        "not its namespace"
    );
    elsewhere.leave().await;
    place.leave().await;
}
