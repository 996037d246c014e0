//! `fabricbench crd --apply`: into an API server without the resource, over itself, and where it must not.

use std::path::Path;
use std::process::{Command, Output};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::cluster::{NAME, client, definition, install, kubeconfig, until};

fn apply(kubeconfig: &Path) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
    program.args(["crd", "--apply"]).env("KUBECONFIG", kubeconfig);
    program.output().unwrap()
}

/// What it says on standard error, where it ends with `code`.
fn refused(kubeconfig: &Path, code: i32) -> String {
    let output = apply(kubeconfig);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

async fn delete(api: &Api<CustomResourceDefinition>) {
    api.delete(NAME, &DeleteParams::default()).await.unwrap();
    until(|| async { api.get_opt(NAME).await.unwrap().is_none().then_some(()) }).await;
}

#[tokio::test]
async fn the_definition_is_applied_over_nothing_over_itself_and_over_that_of_helm() {
    let client = client().await;
    install(&client, &definition()).await;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    delete(&api).await;
    for _ in 0..2 {
        let output = apply(&kubeconfig());
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("{NAME} is applied and served\n"));
    }
    // Another manager owns a field that differs.
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
async fn a_newer_version_that_is_stored_is_left_alone() {
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
    let said = refused(&kubeconfig(), 3);
    assert!(
        said.contains("stores BenchmarkRuns as v1beta1") && said.contains("newer release"),
        "{said}"
    );
    assert_eq!(api.get(NAME).await.unwrap().spec.versions.len(), 2);
    delete(&api).await;
    install(&client, &definition()).await;
}

#[tokio::test]
async fn who_may_not_is_told_what_it_takes_and_who_reaches_nobody_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(kubeconfig()).unwrap();
    let mut config: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    config["users"][0]["user"] = json!({"token": "nobody"});
    let nobody = folder.path().join("nobody.yaml");
    std::fs::write(&nobody, config.to_string()).unwrap();
    let said = refused(&nobody, 3);
    assert!(
        said.contains("may not be read") && said.contains("get, create and patch"),
        "{said}"
    );
    let said = refused(&folder.path().join("missing.yaml"), 3);
    assert!(said.contains("Set KUBECONFIG"), "{said}");
}
