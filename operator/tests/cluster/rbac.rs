//! The operator's permissions are minimal: those in the manifests are sufficient for the full lifecycle, and if any one
//! of them is missing, a request is forbidden and the log reports it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use futures::{StreamExt, stream};
use tempfile::TempDir;
use tokio::time::Instant;

use super::full_lifecycle::full_lifecycle;
use super::nodes::{Nodes, reserve_nodes};
use super::permissions::{Permission, ServiceAccountUser, permissions_of};
use super::start;
use super::test_namespace::{TIMEOUT, TestNamespace};
use test_support::cluster::{anonymous_client, until_within};
use test_support::operator::Operator;
use test_support::proxy::{Proxy, ProxyOptions};

/// Maximum number of operators that run concurrently.
const MAX_OPERATORS: usize = 4;

/// An operator with limited permissions, in its own namespace.
pub struct LimitedOperator {
    pub namespace: TestNamespace,
    account: ServiceAccountUser,
    operator: Operator,
    log: PathBuf,
    _proxy: Proxy,
    _directory: TempDir,
}

impl LimitedOperator {
    /// Starts an operator with exactly `permissions`. An operator with cluster-wide permissions watches all namespaces,
    /// but the proxy returns only the runs in its own namespace, because the other namespaces have their own operators.
    pub async fn new(nodes: &Nodes, permissions: &BTreeSet<Permission>, no_streaming_lists: bool) -> Self {
        let namespace = TestNamespace::new(nodes).await;
        let account = ServiceAccountUser::new(&namespace.client, &namespace.name, permissions).await;
        let cluster_wide = permissions.iter().any(|permission| permission.cluster_wide);
        let options = ProxyOptions {
            token: Some(account.token.clone()),
            namespace: cluster_wide.then(|| namespace.name.clone()),
            no_streaming_lists,
            ..ProxyOptions::default()
        };
        let proxy = Proxy::with_options(&anonymous_client().await, options).await;
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut arguments = vec!["--lease-namespace", &namespace.name];
        if !cluster_wide {
            arguments.extend(["--namespace", &namespace.name]);
        }
        Self {
            operator: start::operator_with_log(&proxy.kubeconfig, &arguments, &log),
            namespace,
            account,
            log,
            _proxy: proxy,
            _directory: directory,
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the log reports that a request was forbidden because it requires `permission`.
    async fn wait_for_forbidden(&self, permission: &Permission) {
        let message = format!("cannot {} resource \"{}\"", permission.verb, permission.resource);
        until_within(TIMEOUT, || async { self.log().contains(&message).then_some(()) }).await;
    }

    /// Stops the operator and deletes its namespace.
    pub async fn stop(self) {
        drop(self.operator);
        self.account.revoke().await;
        // An operator with all permissions removes the runs' finalizers.
        let operator = self.namespace.operator();
        self.namespace.delete().await;
        drop(operator);
    }
}

async fn check_permissions_suffice(nodes: &Nodes, manifest: &str, no_streaming_lists: bool) {
    let limited = LimitedOperator::new(nodes, &permissions_of(manifest), no_streaming_lists).await;
    let start = Instant::now();
    full_lifecycle(&limited.namespace).await;
    let log = limited.log();
    let forbidden: Vec<_> = log.lines().filter(|line| line.contains("forbidden")).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    println!(
        "{manifest}: full lifecycle in {:?} without forbidden requests",
        start.elapsed()
    );
    limited.stop().await;
}

#[tokio::test]
async fn cluster_manifest_grants_sufficient_permissions() {
    let nodes = reserve_nodes().await;
    check_permissions_suffice(&nodes, "cluster", false).await;
}

#[tokio::test]
async fn namespaced_manifest_grants_sufficient_permissions() {
    let nodes = reserve_nodes().await;
    check_permissions_suffice(&nodes, "namespaced", true).await;
}

/// Ensures that the results for one manifest also apply to the other. This test does not need a cluster.
#[test]
fn manifests_differ_only_in_permissions_for_nodes_and_their_devices() {
    let without_scope = |manifest: &str| -> BTreeSet<Permission> {
        let permissions = permissions_of(manifest).into_iter();
        permissions
            .map(|permission| Permission {
                cluster_wide: false,
                ..permission
            })
            .collect()
    };
    let (cluster, namespaced) = (without_scope("cluster"), without_scope("namespaced"));
    let more: Vec<String> = cluster
        .difference(&namespaced)
        .map(Permission::to_string)
        .collect();
    assert_eq!(more, ["list nodes", "watch nodes", "list resourceslices"]);
    assert_eq!(namespaced.difference(&cluster).count(), 0);
}

/// Whether a request from the operator is forbidden without `permission`.
async fn is_required(nodes: &Nodes, permissions: &BTreeSet<Permission>, permission: &Permission) -> bool {
    let rest: BTreeSet<_> = permissions
        .iter()
        .filter(|one| *one != permission)
        .cloned()
        .collect();
    // Newer API servers support streaming lists, which require only the `watch` permission. The operator needs the
    // `list` permission only with older servers, so this permission is tested without streaming lists.
    let limited = LimitedOperator::new(nodes, &rest, permission.verb == "list").await;
    let start = Instant::now();
    let needed = tokio::select! {
        () = limited.wait_for_forbidden(permission) => true,
        () = full_lifecycle(&limited.namespace) => false,
    };
    println!(
        "without {permission}: {} after {:?}",
        if needed { "forbidden" } else { "NOT REQUIRED" },
        start.elapsed()
    );
    limited.stop().await;
    needed
}

#[tokio::test]
async fn every_permission_is_required_and_reported_in_the_log() {
    let nodes = reserve_nodes().await;
    // Only runs that claim devices use the API of claims. Their tests have exactly the permissions in the manifest.
    let mut permissions = permissions_of("cluster");
    permissions.retain(|permission| permission.group != "resource.k8s.io");
    let checks = stream::iter(&permissions).map(|permission| {
        let (nodes, permissions) = (&nodes, &permissions);
        async move {
            let needed = is_required(nodes, permissions, permission).await;
            (permission.to_string(), needed)
        }
    });
    let checked: Vec<_> = checks.buffer_unordered(MAX_OPERATORS).collect().await;
    let unneeded: Vec<_> = checked
        .iter()
        .filter(|(_, needed)| !needed)
        .map(|(permission, _)| permission)
        .collect();
    println!(
        "{} permissions, {} of them required",
        checked.len(),
        checked.len() - unneeded.len()
    );
    assert!(unneeded.is_empty(), "{unneeded:#?}");
}
