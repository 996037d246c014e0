//! `fabricbench report` compares the status of finished runs with their records. The records are those of a local run, and
//! the operator computes the status.

use std::sync::LazyLock;

use crds::record::{Chain, ChainWriter, Record};
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use fabricbench_operator::run_controller::build::names;
use fabricbench_operator::run_controller::record_chain::RecordChain;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::start::{self, fabricbench};
use test_support::cluster::{client, create_namespace, delete_namespace, kubeconfig, run, until};

/// Records of a complete local run.
static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let (file, output) = (directory.path().join("run.yaml"), directory.path().join("output"));
    std::fs::write(&file, serde_json::to_vec(&run("reported")).unwrap()).unwrap();
    let measured = fabricbench()
        .arg("run")
        .arg(&file)
        .arg("--output")
        .arg(&output)
        .output()
        .unwrap();
    // The verdicts do not matter.
    assert!(matches!(measured.status.code(), Some(0 | 1 | 3)), "{measured:?}");
    let text = std::fs::read_to_string(output.join("reported/records.jsonl")).unwrap();
    let mut chain = Chain::default();
    text.lines().map(|line| chain.read(line).unwrap()).collect()
});

/// A run whose records are stored, and whose operator was stopped before it wrote the last status.
struct Scene {
    client: Client,
    namespace: String,
    runs: Api<BenchmarkRun>,
    uid: String,
}

impl Scene {
    /// Creates the run without records.
    async fn created(run: &BenchmarkRun) -> (Self, BenchmarkRun) {
        let client = client().await;
        let namespace = create_namespace(&client).await;
        let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
        let run = runs.create(&PostParams::default(), run).await.unwrap();
        let scene = Self {
            client,
            namespace,
            runs,
            uid: run.metadata.uid.clone().unwrap(),
        };
        (scene, run)
    }

    /// `blocks` is the number of blocks that were measured before the Job was deleted.
    async fn new(blocks: usize) -> Self {
        let mut run = run("reported");
        run.spec.run_policy.backoff_limit = 0;
        let (scene, run) = Self::created(&run).await;
        let records = spawn_blocking({
            let uid = scene.uid.clone();
            move || records_of(&uid, blocks)
        });
        let (chain, parts) = RecordChain::default()
            .appended(records.await.unwrap().as_bytes())
            .unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
        for part in parts {
            let map = part.part.config_map(&run);
            maps.create(&PostParams::default(), &map).await.unwrap();
        }
        let attempt = json!({"leg": 0, "attempt": 1, "state": "Running", "jobUid": "deleted"});
        scene
            .patch(json!({
                "conditions": [],
                "placement": {"nodes": ["node-0", "node-1"]},
                "records": chain.reference(&scene.uid),
                "execution": {"attempts": [attempt]},
            }))
            .await;
        scene
    }

    async fn patch(&self, status: Value) {
        let operations = json!([{"op": "add", "path": "/status", "value": status}]);
        let patch = Patch::Json::<()>(serde_json::from_value(operations).unwrap());
        let params = PatchParams::default();
        self.runs.patch_status("reported", &params, &patch).await.unwrap();
    }

    /// Lets an operator finish the run. Returns the status.
    async fn finish(&self) -> Value {
        let _operator = start::without_election(&kubeconfig(), &self.namespace);
        let status = until(|| async {
            let status = self.status().await;
            status.outcome.is_some().then_some(status)
        });
        serde_json::to_value(status.await).unwrap()
    }

    async fn status(&self) -> BenchmarkRunStatus {
        self.runs.get("reported").await.unwrap().status.unwrap()
    }

    async fn report(&self) -> String {
        let mut command = fabricbench();
        command
            .arg("report")
            .arg(format!("{}/reported", self.namespace))
            .env("COLUMNS", "60000");
        let output = spawn_blocking(move || command.output().unwrap()).await.unwrap();
        format!(
            "{}{}",
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap()
        )
    }

    /// Checks that a report of the run contains no warning about its status.
    async fn assert_intact(&self, what: &str) {
        let text = self.report().await;
        assert!(
            text.contains("reported") && !text.contains("was changed") && !text.contains("were changed"),
            "{what}: {text}"
        );
    }
}

/// The records of a run with `uid` on two nodes, up to the given number of blocks.
fn records_of(uid: &str, blocks: usize) -> String {
    let mut writer = ChainWriter::default();
    let mut measured = 0;
    let mut lines = String::new();
    for record in RECORDS.iter().cloned() {
        if measured == blocks {
            break;
        }
        let record = match record {
            Record::Hello(mut hello) => {
                hello.identity.uid = uid.to_owned();
                hello.environment.node = Some(format!("node-{}", hello.rank));
                Record::Hello(hello)
            }
            other => other,
        };
        measured += usize::from(matches!(record, Record::Block(_)));
        lines.push_str(&writer.line(&record).unwrap());
    }
    lines
}

#[tokio::test]
async fn altered_status_of_a_complete_run_is_noticed() {
    let scene = Scene::new(usize::MAX).await;
    let status = scene.finish().await;
    assert_eq!(status["state"], "Complete", "{status:#}");
    scene.assert_intact("complete").await;
    let alterations = [
        ("/state", json!("Failed")),
        ("/seed", json!(43)),
        ("/outcome", json!("Untrusted")),
        ("/verdict", json!("invented")),
        ("/placement/nodes/0", json!("node-7")),
        ("/progress/blocksDone", json!(1)),
        ("/results/0/values/latencyP50Nanos", json!(1)),
        ("/comparisons/0/effectPpm", json!(-900_000)),
        ("/environment/kernels/0", json!("6.0")),
        ("/fabric/reason", json!("invented")),
        ("/warnings", json!(["invented"])),
        (
            "/sweeps",
            json!([{"scenario": "small", "sizeBytes": 64, "arm": "fi-inject"}]),
        ),
        ("/conditions/3/message", json!("invented")),
        ("/conditions/3/status", json!("False")),
        ("/conditions/0/reason", json!("Invented")),
    ];
    for (pointer, altered) in alterations {
        let mut changed = status.clone();
        match changed.pointer_mut(pointer) {
            Some(value) => *value = altered,
            None => changed[&pointer[1..]] = altered,
        }
        assert_ne!(changed, status);
        scene.patch(changed).await;
        let text = scene.report().await;
        let path = path(pointer);
        assert!(
            text.contains(&format!(
                "the status in the cluster was changed, or written by another version of fabricbench: {path}"
            )),
            "{path}: {text}"
        );
    }
    // A hash of another plan has an error of its own.
    let mut changed = status.clone();
    changed["planHash"] = json!("0".repeat(64));
    scene.patch(changed).await;
    let text = scene.report().await;
    assert!(text.contains("status.planHash is 0000"), "{text}");
    scene.patch(status).await;
    scene.assert_intact("the status as it was").await;
    delete_namespace(&scene.client, &scene.namespace).await;
}

/// Path of the value at `pointer`, as in a warning.
fn path(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1);
    parts.fold("status".to_owned(), |path, part| match part.parse::<u32>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) => format!("{path}.{part}"),
    })
}

#[tokio::test]
async fn status_of_a_run_that_failed_is_compared_without_false_warnings() {
    for blocks in [0, 4] {
        let scene = Scene::new(blocks).await;
        let status = scene.finish().await;
        assert_eq!(status["state"], "Failed", "{status:#}");
        assert_eq!(
            status["conditions"][4]["reason"], "BackoffLimitExceeded",
            "{status:#}"
        );
        scene
            .assert_intact(&format!("failed after {blocks} blocks"))
            .await;
        for (field, altered) in [("state", json!("Complete")), ("seed", json!(43))] {
            let mut changed = status.clone();
            changed[field] = altered;
            scene.patch(changed).await;
            let text = scene.report().await;
            assert!(text.contains(&format!("status.{field} is ")), "{text}");
        }
        delete_namespace(&scene.client, &scene.namespace).await;
    }
}

#[tokio::test]
async fn status_of_a_run_whose_records_were_lost_causes_no_other_warning() {
    let scene = Scene::new(usize::MAX).await;
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let name = names::records(&scene.uid, 0);
    let stored = maps.get(&name).await.unwrap();
    maps.delete(&name, &DeleteParams::default()).await.unwrap();
    let status = scene.finish().await;
    assert_eq!(status["conditions"][4]["reason"], "RecordsLost", "{status:#}");
    let text = scene.report().await;
    assert!(!text.contains("status in the cluster was changed"), "{text}");
    // Another client stores them again.
    let mut restored = stored;
    restored.metadata.resource_version = None;
    restored.metadata.uid = None;
    maps.create(&PostParams::default(), &restored).await.unwrap();
    scene.assert_intact("restored").await;
    delete_namespace(&scene.client, &scene.namespace).await;
}

#[tokio::test]
async fn status_of_a_run_that_the_installation_rejects_causes_no_warning() {
    let mut denied = run("reported");
    for variant in &mut denied.spec.variants {
        variant.image = Some("example.test/denied:1".to_owned());
    }
    let (scene, _) = Scene::created(&denied).await;
    let arguments = ["--no-leader-election", "--allow-image", "example.test/other/"];
    let _operator = start::with_arguments(&kubeconfig(), &scene.namespace, &arguments);
    let reason = until(|| async {
        let status = scene.runs.get("reported").await.ok()?.status?;
        Some(status.conditions.first()?.reason.clone())
    });
    assert_eq!(reason.await, "InvalidSpec");
    scene.assert_intact("rejected").await;
    delete_namespace(&scene.client, &scene.namespace).await;
}
