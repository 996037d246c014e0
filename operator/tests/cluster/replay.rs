//! A finished run in the cluster is measured again: as a new run in the cluster, and on this machine.

use std::collections::BTreeMap;
use std::fs;

use crds::quantity::Quantity;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use kube::api::PostParams;

use super::nodes::share_nodes;
use super::start;
use super::test_namespace::TestNamespace;
use test_support::cluster::run;

const FIRST: &str = "first";
const AGAIN: &str = "again";

#[tokio::test]
async fn a_finished_run_is_measured_again_in_the_cluster_and_on_this_machine() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    namespace.create(&run(FIRST)).await;
    let first = namespace.wait_for_completion(FIRST).await;
    let source = format!("{}/{FIRST}", namespace.name);

    let manifest = replay(&source, &["--manifest", AGAIN], 0);
    let again: BenchmarkRun = serde_json::from_slice(&manifest).unwrap();
    namespace
        .runs
        .create(&PostParams::default(), &again)
        .await
        .unwrap();
    let second = namespace.wait_for_completion(AGAIN).await;
    assert_eq!(operations(&second), operations(&first));

    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().display().to_string();
    // The environment of this machine differs from that of the pods, so there are no verdicts about the change.
    replay(&source, &["--output", &output], 3);
    let stored = fs::read(directory.path().join(FIRST).join("run.json")).unwrap();
    let local: BenchmarkRun = serde_json::from_slice(&stored).unwrap();
    assert_eq!(operations(&local.status.unwrap()), operations(&first));
    namespace.delete().await;
}

/// Number of operations of each scenario, size and arm.
fn operations(status: &BenchmarkRunStatus) -> BTreeMap<(&str, u64, &str), i64> {
    let results = status.results.iter().map(|one| {
        let key = (one.scenario.as_str(), one.size_bytes, one.arm.as_str());
        (key, one.value(Quantity::Iterations).unwrap())
    });
    let operations: BTreeMap<_, _> = results.collect();
    assert!(!operations.is_empty());
    operations
}

/// Runs `fabricbench replay` on `source`, which must exit with the status `expected`. Returns its standard output.
fn replay(source: &str, arguments: &[&str], expected: i32) -> Vec<u8> {
    let mut command = start::fabricbench();
    let output = command.args(["replay", source]).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(expected), "{errors} {printed}");
    output.stdout
}
