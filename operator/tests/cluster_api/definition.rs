//! `fabricbench crd --apply`: creates the CRD, updates it, and refuses to replace a newer version.

use std::path::Path;
use std::process::{Command, Output};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use test_support::cluster::{NAME, client, definition, install, kubeconfig, until};

fn apply(kubeconfig: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"));
    command.args(["crd", "--apply"]).env("KUBECONFIG", kubeconfig);
    command.output().unwrap()
}

/// Runs the command, which must fail with exit status `code`, and returns its standard error.
fn expect_failure(kubeconfig: &Path, code: i32) -> String {
    let output = apply(kubeconfig);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

async fn delete(api: &Api<CustomResourceDefinition>) {
    api.delete(NAME, &DeleteParams::default()).await.unwrap();
    until(|| async { api.get_opt(NAME).await.unwrap().is_none().then_some(()) }).await;
}

#[tokio::test]
async fn creates_the_crd_and_takes_it_over_from_helm() {
    let client = client().await;
    install(&client, &definition()).await;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    delete(&api).await;
    for _ in 0..2 {
        let output = apply(&kubeconfig());
        assert!(output.status.success(), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout, format!("{NAME} is applied and served\n"));
    }
    // Another field manager owns a field with a different value.
    let other = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"names": {"kind": "BenchmarkRun", "plural": "benchmarkruns", "shortNames": ["old"]}},
    });
    let params = PatchParams::apply("helm").force();
    api.patch(NAME, &params, &Patch::Apply(&other)).await.unwrap();
    assert!(apply(&kubeconfig()).status.success());
    let names = api.get(NAME).await.unwrap().spec.names;
    assert_eq!(names.short_names.unwrap(), ["bench"]);
}

#[tokio::test]
async fn does_not_replace_a_newer_stored_version() {
    let client = client().await;
    let mut newer = definition();
    let mut version = newer["spec"]["versions"][0].clone();
    newer["spec"]["versions"][0]["storage"] = json!(false);
    version["name"] = json!("v1beta1");
    newer["spec"]["versions"].as_array_mut().unwrap().push(version);
    install(&client, &newer).await;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    until(|| async {
        let status = api.get(NAME).await.unwrap().status?;
        let stored = status.stored_versions?;
        stored.contains(&"v1beta1".to_owned()).then_some(())
    })
    .await;
    let stderr = expect_failure(&kubeconfig(), 3);
    assert!(
        stderr.contains("stores BenchmarkRuns in version v1beta1") && stderr.contains("newer release"),
        "{stderr}"
    );
    assert_eq!(api.get(NAME).await.unwrap().spec.versions.len(), 2);
    delete(&api).await;
    install(&client, &definition()).await;
}

#[tokio::test]
async fn reports_rejected_credentials_and_a_missing_kubeconfig() {
    let directory = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(kubeconfig()).unwrap();
    let mut config: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    config["users"][0]["user"] = json!({"token": "unknown"});
    let unauthorized = directory.path().join("unauthorized.yaml");
    std::fs::write(&unauthorized, config.to_string()).unwrap();
    let stderr = expect_failure(&unauthorized, 3);
    assert!(
        stderr.contains("cannot be read: https://")
            && stderr.contains("does not accept the credentials in the kubeconfig file"),
        "{stderr}"
    );
    let stderr = expect_failure(&directory.path().join("missing.yaml"), 3);
    assert!(stderr.contains("Set KUBECONFIG"), "{stderr}");
}
