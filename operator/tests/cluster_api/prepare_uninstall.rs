//! The command that the chart runs before it is uninstalled, with runs that have the operator's finalizer.

use std::process::{Command, Output};

use crds::names::FINALIZER;
use crds::v1alpha1::BenchmarkRun;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use test_support::cluster::{client, create_namespace, delete_namespace, kubeconfig, run, until};

fn prepare_uninstall(namespace: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"))
        .args(["prepare-uninstall", "--namespace", namespace])
        .args(arguments)
        .env("KUBECONFIG", kubeconfig())
        .output()
        .unwrap()
}

#[tokio::test]
async fn uninstalling_is_refused_while_runs_exist_or_deletes_them() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let none = prepare_uninstall(&namespace, &[]);
    assert!(none.status.success(), "{none:?}");

    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let mut created = run("held");
    created.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    runs.create(&PostParams::default(), &created).await.unwrap();
    let refused = prepare_uninstall(&namespace, &[]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(message.contains(&format!("{namespace}/held")), "{message}");
    assert!(message.contains("helm rollback"), "{message}");
    let run = runs.get("held").await.unwrap();
    assert_eq!(run.metadata.deletion_timestamp, None, "a refusal changes nothing");

    // Without an operator, the finalizer holds the run.
    let late = prepare_uninstall(&namespace, &["--runs=delete", "--timeout-seconds=2"]);
    let message = String::from_utf8(late.stderr).unwrap();
    assert_eq!(late.status.code(), Some(3), "{message}");
    assert!(message.contains("these runs still exist after 2 s"), "{message}");

    // The command waits until the finalizer is removed, as the operator does.
    let waiting = tokio::task::spawn_blocking({
        let namespace = namespace.clone();
        move || prepare_uninstall(&namespace, &["--runs=delete"])
    });
    until(|| async { runs.get("held").await.ok()?.metadata.deletion_timestamp }).await;
    let released = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    runs.patch("held", &PatchParams::default(), &released)
        .await
        .unwrap();
    let deleted = waiting.await.unwrap();
    assert!(deleted.status.success(), "{deleted:?}");
    assert!(runs.get_opt("held").await.unwrap().is_none());
    delete_namespace(&client, &namespace).await;
}
