//! Tests that affect the runs of all other tests. Tests start in alphabetical order, so these are the last ones, and wait
//! only for tests that are about to end.

use std::process::Command;

use super::deployed::{AppliedManifest, wait_until_available};
use super::faults::{assert_undisturbed, start_campaign};
use super::nodes::reserve_cluster;
use super::test_namespace::TestNamespace;
use super::testbed::{kubectl, testbed};
use test_support::cluster::{kubeconfig, run};

#[tokio::test]
async fn operator_runs_as_a_pod_for_the_whole_cluster() {
    let nodes = reserve_cluster().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _applied = AppliedManifest::new("cluster.yaml");
    wait_until_available("fabricbench-system");
    namespace.create(&run("deployed")).await;
    namespace.wait_for_completion("deployed").await;
    println!(
        "{}",
        kubectl(&[
            "-n",
            "fabricbench-system",
            "logs",
            "deployment/fabricbench-operator"
        ])
    );
    println!("{}", kubectl(&["-n", &namespace.name, "get", "events"]));
    namespace.delete().await;
}

#[tokio::test]
async fn campaign_completes_after_api_server_restart() {
    let nodes = reserve_cluster().await;
    let (namespace, operator) = start_campaign(&nodes, "api-server").await;
    let pid_file = kubeconfig().with_file_name("run/kube-apiserver.pid");
    let pid_file = std::fs::read_to_string(pid_file).unwrap();
    let pid = pid_file.split_whitespace().next().unwrap();
    assert!(
        Command::new("kill")
            .args(["-s", "KILL", pid])
            .status()
            .unwrap()
            .success()
    );
    testbed(&["up"]);
    let status = namespace.wait_for_completion("api-server").await;
    assert_undisturbed("API server", &status);
    operator.ready().await;
    namespace.delete().await;
}
