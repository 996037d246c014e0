//! Tests that a real API server accepts every example and rejects the same manifests as the command line.

use std::path::{Path, PathBuf};

use crds::v1alpha1::BenchmarkRun;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use serde::Deserialize;
use serde_json::{Value, json};

use test_support::bad_manifests::bad_manifests;
use test_support::cluster::{client, create_namespace, root, run};

/// Returns the paths of the manifests in `directory`.
pub fn files(directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Returns the objects in a manifest.
pub fn documents(path: &Path) -> Vec<Value> {
    parse_documents(&std::fs::read_to_string(path).unwrap())
}

fn parse_documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    // After the first error, the parser returns the same error indefinitely.
    documents
        .map_while(|document| Value::deserialize(document).ok())
        .collect()
}

/// Applies `document` in a dry run.
async fn dry_run(api: &Api<DynamicObject>, document: &Value) -> Result<(), kube::Error> {
    let name = document["metadata"]["name"].as_str().unwrap();
    let params = PatchParams {
        dry_run: true,
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("cluster-api-tests")
    };
    api.patch(name, &params, &Patch::Apply(document))
        .await
        .map(|_| ())
}

#[tokio::test]
async fn accepts_every_example() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    for path in files("examples") {
        for document in documents(&path) {
            dry_run(&api, &document)
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// The command line validates manifests with the same schema. Both must reject the same manifests.
#[tokio::test]
async fn rejects_the_same_manifests_as_the_command_line() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    let (mut rejected, mut accepted) = (0, Vec::new());
    for case in bad_manifests() {
        let [document] = &parse_documents(&case.text)[..] else {
            continue;
        };
        let kind_and_name = (document["kind"].as_str(), document["metadata"]["name"].as_str());
        let (Some("BenchmarkRun"), Some(_)) = kind_and_name else {
            continue;
        };
        if dry_run(&api, document).await.is_err() {
            rejected += 1;
        } else if manifest::parse(&case.text, None).is_err() {
            accepted.push(case.name);
        }
    }
    println!("the API server rejects {rejected} invalid manifests");
    assert!(accepted.is_empty(), "only the command line rejects {accepted:?}");
}

#[tokio::test]
async fn only_suspend_and_ttl_are_mutable() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let api: Api<BenchmarkRun> = Api::namespaced(client, &namespace);
    api.create(&PostParams::default(), &run("fixed")).await.unwrap();
    let patch = |spec: Value| {
        let patch = Patch::Merge(json!({"spec": spec}));
        let api = api.clone();
        async move { api.patch("fixed", &PatchParams::default(), &patch).await }
    };
    patch(json!({"suspend": true})).await.unwrap();
    patch(json!({"runPolicy": {"ttlSecondsAfterFinished": 60}}))
        .await
        .unwrap();
    for change in [
        json!({"baseline": "fi-inject"}),
        json!({"sampling": {"rounds": 7}}),
        json!({"image": "example.test/other"}),
        json!({"runPolicy": {"backoffLimit": 5}}),
        json!({"placement": {"workers": 3}}),
        json!({"devices": {"numaNode": 1}}),
        json!({"transport": {"libfabric": {"provider": "shm"}}}),
    ] {
        let error = patch(change.clone()).await.unwrap_err();
        assert!(error.to_string().contains("immutable"), "{change}: {error}");
    }
}
