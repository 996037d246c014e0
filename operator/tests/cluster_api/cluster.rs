//! The API server that tests use, with the resource installed, and namespaces of their own.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crds::v1alpha1::BenchmarkRun;
use fabricbench_operator::manifest;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Config, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

/// Names the kubeconfig of an API server that tests may do anything with.
pub const KUBECONFIG: &str = "FABRICBENCH_TEST_KUBECONFIG";
/// Longest time anything may take that a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Name of the resource's definition.
pub const NAME: &str = "benchmarkruns.fabricbench.dev";

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The kubeconfig of that API server.
pub fn kubeconfig() -> PathBuf {
    let path = std::env::var_os(KUBECONFIG).unwrap_or_else(|| {
        panic!("these tests need an API server: run `make operator-test`, or name one in {KUBECONFIG}")
    });
    path.into()
}

/// A client of that API server.
pub async fn client() -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

/// The resource as `kubectl apply` would send it.
pub fn definition() -> Value {
    let text = std::fs::read_to_string(root().join("charts/fabricbench/crds/benchmarkruns.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// Installs `definition` and waits until its objects are served.
pub async fn install(client: &Client, definition: &Value) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("cluster-api-tests").force();
    api.patch(NAME, &params, &Patch::Apply(definition)).await.unwrap();
    let established = await_condition(api, NAME, conditions::is_crd_established());
    timeout(PATIENCE, established).await.unwrap().unwrap();
}

/// A namespace of the test's own, with the resource installed.
pub async fn namespace(client: &Client) -> String {
    install(client, &definition()).await;
    let api: Api<Namespace> = Api::all(client.clone());
    let namespace = Namespace {
        metadata: ObjectMeta {
            generate_name: Some("test-".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let created = api.create(&PostParams::default(), &namespace).await.unwrap();
    let name = created.metadata.name.unwrap();
    // Whoever creates a run at once meets an API server that serves it.
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &name);
    until(|| async { runs.list(&Default::default()).await.ok() }).await;
    name
}

/// Begins to delete `namespace`; who still works in it has to be gone.
pub async fn leave(client: &Client, namespace: &str) {
    let api: Api<Namespace> = Api::all(client.clone());
    api.delete(namespace, &DeleteParams::default()).await.unwrap();
}

/// A run that a cluster can carry out, named `name`.
pub fn run(name: &str) -> BenchmarkRun {
    let text = format!(
        r#"
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {{name: {name}}}
spec:
  baseline: baseline
  variants:
  - name: baseline
  - {{name: fi-inject, inject: {{maxBytes: 256}}}}
  transport: {{libfabric: {{provider: tcp}}}}
  scenarios:
  - {{name: small, memory: Heap, pingPong: {{sizes: [64], iterations: 100, warmup: 10}}}}
  # Where several tests run at once, each of their runs is one of many.
  placement: {{exclusive: false}}
  # The nodes of a small cluster have two, and the operator takes some.
  resources: {{cpus: 1}}
  sampling: {{rounds: 6}}
"#
    );
    manifest::parse(&text, None).unwrap().remove(0)
}

/// Calls `look` until it finds something.
pub async fn until<T, F>(look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    until_within(PATIENCE, look).await
}

/// The same with another patience.
pub async fn until_within<T, F>(patience: Duration, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "it did not come within {patience:?}");
        sleep(Duration::from_millis(25)).await;
    }
}

/// All objects of a kind in a namespace.
pub async fn all<K>(client: &Client, namespace: &str) -> Vec<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    api.list(&Default::default()).await.unwrap().items
}

/// Status of the condition `name`.
pub fn condition<'a>(run: &'a BenchmarkRun, name: &str) -> Option<&'a str> {
    let mut conditions = run.status.as_ref()?.conditions.iter();
    let found = conditions.find(|condition| condition.type_ == name)?;
    Some(&found.status)
}
