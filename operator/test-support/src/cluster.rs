//! Access to the test API server, including functions that install the CRD and create namespaces and runs.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Config, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

/// Environment variable that holds the path of a kubeconfig for an API server on which tests have all permissions.
pub const KUBECONFIG: &str = "FABRICBENCH_TEST_KUBECONFIG";
/// Maximum time to wait for a condition in a test.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two checks of a condition. Several tests wait at the same time, and the API server takes milliseconds of
/// CPU time to answer each check.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Name of the CustomResourceDefinition.
pub const NAME: &str = "benchmarkruns.fabricbench.dev";

/// Returns the root directory of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Returns the path of the kubeconfig.
pub fn kubeconfig() -> PathBuf {
    let path = std::env::var_os(KUBECONFIG).unwrap_or_else(|| {
        panic!(
            "these tests need an API server: run `.ci/operator-test api`, or set {KUBECONFIG} to a kubeconfig"
        )
    });
    path.into()
}

/// Creates a command of the `fabricbench` binary next to the binary `operator`. It uses the test API server.
pub fn fabricbench(operator: &str) -> Command {
    let binary = Path::new(operator).with_file_name("fabricbench");
    assert!(
        binary.is_file(),
        "{} does not exist; run cargo build -p fabricbench-cli",
        binary.display()
    );
    let mut command = Command::new(binary);
    command.env("KUBECONFIG", kubeconfig());
    command
}

/// Creates a client with the permissions in the kubeconfig.
pub async fn client() -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

/// Creates a client without credentials.
pub async fn anonymous_client() -> Client {
    let mut kubeconfig = Kubeconfig::read_from(kubeconfig()).unwrap();
    for user in &mut kubeconfig.auth_infos {
        user.auth_info = Some(AuthInfo::default());
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// Returns the CRD in the chart.
pub fn definition() -> Value {
    let text = std::fs::read_to_string(root().join("charts/fabricbench/crds/benchmarkruns.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// Installs the CRD `definition` and waits until it is established.
pub async fn install(client: &Client, definition: &Value) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("cluster-api-tests").force();
    api.patch(NAME, &params, &Patch::Apply(definition)).await.unwrap();
    let established = await_condition(api, NAME, conditions::is_crd_established());
    timeout(TIMEOUT, established).await.unwrap().unwrap();
}

/// Creates a namespace for a test and installs the CRD.
pub async fn create_namespace(client: &Client) -> String {
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
    // Waits until the API server serves the resource, so that tests can create runs immediately.
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &name);
    until(|| async { runs.list(&Default::default()).await.ok() }).await;
    name
}

/// Starts the deletion of `namespace`.
pub async fn delete_namespace(client: &Client, namespace: &str) {
    let api: Api<Namespace> = Api::all(client.clone());
    api.delete(namespace, &DeleteParams::default()).await.unwrap();
}

/// Returns a valid run named `name`. Its seed is fixed, so that the cases of different runs can be compared.
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
  # Tests run concurrently, so their runs share nodes.
  placement: {{exclusive: false}}
  # Two runs fit on nodes with two CPUs.
  resources: {{cpus: 1}}
  sampling: {{rounds: 6, seed: 42}}
"#
    );
    manifest::parse(&text, None).unwrap().remove(0)
}

/// Calls `check` until it returns a value. Fails after [`TIMEOUT`].
pub async fn until<T, F>(check: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    until_within(TIMEOUT, check).await
}

/// Calls `check` until it returns a value. Fails after `timeout`.
pub async fn until_within<T, F>(timeout: Duration, mut check: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + timeout;
    loop {
        if let Some(value) = check().await {
            return value;
        }
        assert!(Instant::now() < end, "timed out after {timeout:?}");
        sleep(POLL_INTERVAL).await;
    }
}

/// Lists all objects of a kind in a namespace.
pub async fn all<K>(client: &Client, namespace: &str) -> Vec<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    api.list(&Default::default()).await.unwrap().items
}

/// Returns the status of the `name` condition.
pub fn condition<'a>(run: &'a BenchmarkRun, name: &str) -> Option<&'a str> {
    let mut conditions = run.status.as_ref()?.conditions.iter();
    let found = conditions.find(|condition| condition.type_ == name)?;
    Some(&found.status)
}
