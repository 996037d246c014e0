//! Applies the CRD and every example with client-side `kubectl apply`, which stores the whole object in an annotation.

use std::path::{Path, PathBuf};
use std::process::Command;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;

use super::schema::files;
use test_support::cluster::{all, client, create_namespace, definition, kubeconfig, root};

/// Annotation in which `kubectl apply` stores the applied object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Maximum total size of an object's annotations, in bytes.
const MAX_ANNOTATIONS: usize = 256 << 10;

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the output of `kubectl apply` for `files`: one line for each object.
fn apply(files: &[PathBuf], namespace: &str) -> Vec<String> {
    let tools = output(Command::new(root().join("testbed/testbed")).args(["tools", "kubernetes"]));
    let mut kubectl = Command::new(Path::new(tools.trim()).join("kubectl"));
    kubectl.arg("--kubeconfig").arg(kubeconfig());
    kubectl.args(["apply", "--namespace", namespace]);
    for file in files {
        kubectl.arg("--filename").arg(file);
    }
    output(&mut kubectl).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn applies_the_crd_twice() {
    let client = client().await;
    // The CRD has a different API group, so that deleting it does not delete other tests' runs.
    let group = "applied.fabricbench.dev";
    let name = format!("benchmarkruns.{group}");
    let mut definition = definition();
    definition["spec"]["group"] = group.into();
    definition["metadata"]["name"] = name.as_str().into();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("definition.yaml");
    let text = serde_yaml::to_string(&definition).unwrap();
    std::fs::write(&file, &text).unwrap();
    let files = [file];
    let first = apply(&files, "default");
    let second = apply(&files, "default");
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let applied = api.get(&name).await.unwrap();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    assert!(first[0].ends_with(" created"), "{first:?}");
    assert!(second[0].ends_with(" unchanged"), "{second:?}");
    let stored_bytes = applied.metadata.annotations.unwrap()[LAST_APPLIED].len();
    println!(
        "the CRD is {} bytes long; kubectl apply stores {stored_bytes} of at most {MAX_ANNOTATIONS}",
        text.len()
    );
    assert!(
        stored_bytes < MAX_ANNOTATIONS / 2,
        "the last-applied annotation must leave room for the CRD to grow"
    );
}

#[tokio::test]
async fn applies_every_example_twice() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    // One command for all files, because each command takes a third of a second to start.
    let examples = files("examples");
    let first = apply(&examples, &namespace);
    let second = apply(&examples, &namespace);
    println!("{first:#?}");
    assert!(first.len() >= examples.len(), "{first:?}");
    assert!(first.iter().all(|line| line.ends_with(" created")), "{first:?}");
    // The second output is "configured" if list items have default values that the manifest does not contain. The
    // object is unchanged in either case.
    assert_eq!(second.len(), first.len(), "{second:?}");
    for run in all::<BenchmarkRun>(&client, &namespace).await {
        assert_eq!(
            run.metadata.generation,
            Some(1),
            "{:?} was changed",
            run.metadata.name
        );
    }
    test_support::cluster::delete_namespace(&client, &namespace).await;
}
