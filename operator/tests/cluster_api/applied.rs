//! Plain `kubectl apply`, which keeps the whole object in an annotation: the definition and every example.

use std::path::Path;
use std::process::Command;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DeleteParams;

use super::cluster::{all, client, definition, kubeconfig, namespace, root};
use super::schema::files;

/// Where `kubectl apply` keeps what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Most bytes of all annotations of an object together.
const MAX_ANNOTATIONS: usize = 256 << 10;

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What `kubectl apply` says of `file`: a line for each object.
fn apply(file: &Path, namespace: &str) -> Vec<String> {
    let folder = output(Command::new(root().join("testbed/testbed")).args(["tools", "kubernetes"]));
    let mut kubectl = Command::new(Path::new(folder.trim()).join("kubectl"));
    kubectl.arg("--kubeconfig").arg(kubeconfig());
    kubectl
        .args(["apply", "--namespace", namespace, "--filename"])
        .arg(file);
    output(&mut kubectl).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_definition_is_applied_and_applied_again() {
    let client = client().await;
    // Of another group, so that nobody's runs go with it.
    let group = "applied.fabricbench.dev";
    let name = format!("benchmarkruns.{group}");
    let mut definition = definition();
    definition["spec"]["group"] = group.into();
    definition["metadata"]["name"] = name.as_str().into();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("definition.yaml");
    let text = serde_yaml::to_string(&definition).unwrap();
    std::fs::write(&file, &text).unwrap();
    let first = apply(&file, "default");
    let second = apply(&file, "default");
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let applied = api.get(&name).await.unwrap();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    assert!(first[0].ends_with(" created"), "{first:?}");
    assert!(second[0].ends_with(" unchanged"), "{second:?}");
    let kept = applied.metadata.annotations.unwrap()[LAST_APPLIED].len();
    println!(
        "the definition has {} bytes; kubectl apply keeps {kept} of at most {MAX_ANNOTATIONS}",
        text.len()
    );
    assert!(kept < MAX_ANNOTATIONS / 2, "room to grow");
}

#[tokio::test]
async fn every_example_is_applied_and_applied_again() {
    let client = client().await;
    let namespace = namespace(&client).await;
    for file in files("examples") {
        let first = apply(&file, &namespace);
        let second = apply(&file, &namespace);
        println!("{}: {first:?}", file.file_name().unwrap().display());
        assert!(
            !first.is_empty() && first.iter().all(|line| line.ends_with(" created")),
            "{first:?}"
        );
        // "configured" where lists have defaults, which are not in the manifest: it sends them again, and nothing changes.
        assert_eq!(second.len(), first.len(), "{second:?}");
    }
    for run in all::<BenchmarkRun>(&client, &namespace).await {
        assert_eq!(
            run.metadata.generation,
            Some(1),
            "{:?} was changed",
            run.metadata.name
        );
    }
    super::cluster::leave(&client, &namespace).await;
}
