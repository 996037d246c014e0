//! Tests that affect the runs of all other tests, or whose runs need more than two nodes. Tests start in alphabetical
//! order, so these start last, and wait for the few tests that are still in progress.

mod at_once;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crds::quantity::Quantity;
use crds::units;
use crds::v1alpha1::{CaseValidity, FabricProof};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tempfile::TempDir;

use super::deployed::{AppliedManifest, wait_until_available};
use super::example::{example, examples, result};
use super::faults::{assert_recovers, assert_undisturbed, start_campaign};
use super::nodes::reserve_cluster;
use super::parameter_serving::shorten;
use super::test_namespace::TestNamespace;
use super::testbed::{Testbed, kubectl, undo};
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
    let before = namespace.status("api-server").await;
    let pid_file = kubeconfig().with_file_name("run/kube-apiserver.pid");
    let record = fs::read_to_string(pid_file).unwrap();
    let pid = record.split_whitespace().next().unwrap();
    let killed = Instant::now();
    assert!(
        Command::new("kill")
            .args(["-s", "KILL", pid])
            .status()
            .unwrap()
            .success()
    );
    Testbed::lock().await.run(&["up"]);
    assert_recovers(&namespace, "api-server", &before, killed).await;
    let status = namespace.wait_for_completion("api-server").await;
    assert_undisturbed("API server", &status);
    operator.ready().await;
    namespace.delete().await;
}

#[tokio::test]
async fn four_senders_transfer_to_one_receiver_at_the_same_time() {
    let nodes = reserve_cluster().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = example("incast");
    run.spec.resources.cpus = Some(1);
    run.spec.sampling.rounds = Some(2);
    for scenario in &mut run.spec.scenarios {
        let transfer = scenario.transfer.as_mut().unwrap();
        transfer.duration = Some(units::Duration(Duration::from_millis(500)));
    }
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("incast").await;
    let placement = status.placement.clone().unwrap();
    let different: BTreeSet<_> = placement.nodes.iter().collect();
    assert_eq!(different.len(), 5, "{placement:?}");
    for arm in ["libfabric", "ucx"] {
        let result = result(&status, "incast", arm);
        assert_eq!(
            (result.validity, result.valid_rounds, result.fabric),
            (CaseValidity::Valid, 2, Some(FabricProof::Verified)),
            "{result:?}"
        );
        let flow = |quantity| result.value(quantity).unwrap();
        println!("{arm}: {:?}", result.values);
        // The only receiver gets the bytes of all four flows. The rates are medians over the rounds, so their sum is
        // not exact.
        assert!(
            flow(Quantity::FlowsSlowestReceiverBytesPerSecond)
                > 3 * flow(Quantity::FlowsSlowestBytesPerSecond),
            "{result:?}"
        );
    }
    namespace.delete().await;
}

/// Name of the example's PersistentVolumeClaim.
const CLAIM: &str = "parameters";

/// A PersistentVolume, which is deleted when this value is dropped, even if the test fails.
struct Volume(String);

impl Drop for Volume {
    fn drop(&mut self) {
        // The API server retains the volume until the claim has been deleted.
        undo(&["kubectl", "delete", "persistentvolume", &self.0, "--wait=false"]);
    }
}

/// Creates the claim of the example in `namespace`, and its volume, which has the same name as the namespace. The
/// volume is `directory`, which all nodes of the testbed share.
async fn create_claim(namespace: &TestNamespace, directory: &Path) -> Volume {
    let access = json!({"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": namespace.name,
                        "resources": {"requests": {"storage": "1Gi"}}});
    let claim = json!({"metadata": {"name": CLAIM}, "spec": access});
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(namespace.client.clone(), &namespace.name);
    let claim = serde_json::from_value(claim).unwrap();
    claims.create(&PostParams::default(), &claim).await.unwrap();
    let volume = json!({"metadata": {"name": namespace.name}, "spec": {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {"name": CLAIM, "namespace": namespace.name},
        "hostPath": {"path": directory, "type": "Directory"},
        "storageClassName": "",
    }});
    let volumes: Api<PersistentVolume> = Api::all(namespace.client.clone());
    let volume = serde_json::from_value(volume).unwrap();
    volumes.create(&PostParams::default(), &volume).await.unwrap();
    Volume(namespace.name.clone())
}

/// Directory that the pods of a namespace share through the example's claim.
struct Store {
    _volume: Volume,
    directory: TempDir,
}

impl Store {
    async fn new(namespace: &TestNamespace) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The workers do not run as root.
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        Self {
            _volume: create_claim(namespace, directory.path()).await,
            directory,
        }
    }

    #[track_caller]
    fn assert_empty(&self) {
        let left: Vec<_> = fs::read_dir(self.directory.path()).unwrap().collect();
        assert!(left.is_empty(), "the runs must remove their files: {left:?}");
    }
}

#[tokio::test]
async fn four_nodes_read_parameters_from_a_shared_file_system() {
    let nodes = reserve_cluster().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let store = Store::new(&namespace).await;
    let mut run = example("parameter-serving-claim");
    run.spec.resources.cpus = Some(1);
    shorten(&mut run);
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("parameter-serving-claim").await;
    // No interface counter covers a file system.
    for (scenario, proof) in [
        ("filesystem", FabricProof::Declared),
        ("push", FabricProof::Verified),
    ] {
        let result = result(&status, scenario, "tcp");
        println!("{scenario}: {:?}", result.values);
        let workers = result.value(Quantity::ServingWorkers);
        assert_eq!((workers, result.valid_rounds), (Some(4), 2), "{result:?}");
        assert_eq!(result.fabric, Some(proof), "{result:?}");
    }
    store.assert_empty();
    namespace.delete().await;
}

#[tokio::test]
async fn one_and_three_jobs_share_a_store() {
    let nodes = reserve_cluster().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let store = Store::new(&namespace).await;
    for mut run in examples("parameter-serving-store-pods") {
        run.spec.resources.cpus = Some(1);
        shorten(&mut run);
        run.spec.sampling.rounds = Some(1);
        for scenario in &mut run.spec.scenarios {
            scenario.parameter_serving.as_mut().unwrap().workers = Some(vec![2]);
        }
        let name = namespace.create(&run).await.metadata.name.unwrap();
        let status = namespace.wait_for_completion(&name).await;
        for scenario in ["filesystem", "push"] {
            let result = result(&status, scenario, "tcp");
            println!("{name}, {scenario}: {:?}", result.values);
            let workers = result.value(Quantity::ServingWorkers);
            assert_eq!((workers, result.valid_rounds), (Some(2), 1), "{result:?}");
            assert!(
                result.value(Quantity::ServingPushP50Nanos).is_some(),
                "{result:?}"
            );
        }
    }
    store.assert_empty();
    namespace.delete().await;
}
