//! The resource in a real API server: every example is accepted, every manifest that the schema refuses is refused.

use std::path::{Path, PathBuf};

use crds::v1alpha1::BenchmarkRun;
use fabricbench_operator::manifest;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use serde::Deserialize;
use serde_json::{Value, json};

use super::cluster::{client, namespace, root, run};

/// A size is a number or a text with a suffix, which no rule of the schema can look into: the operator refuses these.
pub const SIZES: [&str; 6] = [
    "inject-unit",
    "memory-unit",
    "size-negative",
    "size-overflow",
    "size-unit",
    "striping-threshold-negative",
];

/// The manifests in `folder`.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

/// The objects in a manifest.
pub fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let documents = serde_yaml::Deserializer::from_str(&text);
    // After its first error the parser says the same for ever.
    documents
        .map_while(|document| Value::deserialize(document).ok())
        .collect()
}

/// What `kubectl apply` does with `document`, without its effect.
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
async fn every_example_is_accepted() {
    let client = client().await;
    let namespace = namespace(&client).await;
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

/// The same schema is checked where there is no cluster: both must refuse the same.
#[tokio::test]
async fn what_the_schema_refuses_here_it_refuses_there() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    let (mut refused, mut accepted) = (0, Vec::new());
    for path in files("operator/tests/bad_manifests") {
        let [document] = &documents(&path)[..] else {
            continue;
        };
        let head = (document["kind"].as_str(), document["metadata"]["name"].as_str());
        let (Some("BenchmarkRun"), Some(_)) = head else {
            continue;
        };
        if dry_run(&api, document).await.is_err() {
            refused += 1;
        } else if manifest::load(&path, None).is_err() {
            accepted.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    println!("{refused} bad manifests are refused by the API server");
    assert_eq!(accepted, SIZES);
}

#[tokio::test]
async fn only_suspend_and_the_time_to_live_can_be_changed() {
    let client = client().await;
    let namespace = namespace(&client).await;
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
    for refused in [
        json!({"baseline": "fi-inject"}),
        json!({"sampling": {"rounds": 7}}),
        json!({"image": "example.test/other"}),
        json!({"runPolicy": {"backoffLimit": 5}}),
        json!({"placement": {"workers": 3}}),
        json!({"transport": {"libfabric": {"provider": "shm"}}}),
    ] {
        let error = patch(refused.clone()).await.unwrap_err();
        assert!(error.to_string().contains("immutable"), "{refused}: {error}");
    }
}
