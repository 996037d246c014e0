//! The operator's rights are the fewest: with those of the manifests it does all that it may have to do, and without any
//! one of them it is refused something, and says so.

use std::collections::BTreeSet;
use std::path::PathBuf;

use futures::{StreamExt, stream};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;
use tokio::time::Instant;

use super::campaign::{PATIENCE, Place};
use super::cluster::{kubeconfig, until_within};
use super::life::life;
use super::operator::Operator;
use super::proxy::{Manner, Proxy};
use super::rights::{Account, Right, of_manifest};
use super::start;

/// Operators at once.
const AT_ONCE: usize = 4;

/// An operator with an account of its own, in a place of its own.
struct Limited {
    place: Place,
    account: Account,
    operator: Operator,
    log: PathBuf,
    _proxy: Proxy,
    _folder: TempDir,
}

impl Limited {
    /// With exactly these rights. One whose rights hold everywhere asks for all namespaces, and is shown the runs of its
    /// place alone: others have operators of their own.
    async fn new(rights: &BTreeSet<Right>, lists_first: bool) -> Self {
        let place = Place::new().await;
        let account = Account::with(&place.client, &place.namespace, rights).await;
        let everywhere = rights.iter().any(|right| right.everywhere);
        let manner = Manner {
            token: Some(account.token.clone()),
            only: everywhere.then(|| place.namespace.clone()),
            lists_first,
        };
        let proxy = Proxy::with(&nobody().await, manner).await;
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut arguments = vec!["--lease-namespace", &place.namespace];
        if !everywhere {
            arguments.extend(["--namespace", &place.namespace]);
        }
        Self {
            operator: start::logged(&proxy.kubeconfig, &arguments, &log),
            place,
            account,
            log,
            _proxy: proxy,
            _folder: folder,
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the operator says that it is refused what `right` would allow.
    async fn refused(&self, right: &Right) {
        let words = format!("cannot {} resource \"{}\"", right.verb, right.resource);
        until_within(PATIENCE, || async { self.log().contains(&words).then_some(()) }).await;
    }

    /// Ends it, with what is left of its runs.
    async fn end(self) {
        drop(self.operator);
        self.account.revoke().await;
        // Whoever may do anything lets its runs go.
        let operator = self.place.operator();
        self.place.leave().await;
        drop(operator);
    }
}

/// A client of the API server that is nobody by itself.
async fn nobody() -> Client {
    let mut kubeconfig = Kubeconfig::read_from(kubeconfig()).unwrap();
    for user in &mut kubeconfig.auth_infos {
        user.auth_info = Some(AuthInfo::default());
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}

async fn does_everything(manifest: &str, lists_first: bool) {
    let limited = Limited::new(&of_manifest(manifest), lists_first).await;
    let began = Instant::now();
    life(&limited.place).await;
    let log = limited.log();
    let refusals: Vec<_> = log.lines().filter(|line| line.contains("forbidden")).collect();
    assert!(refusals.is_empty(), "{refusals:#?}");
    println!(
        "{manifest}: a whole life in {:?}, and nothing was refused",
        began.elapsed()
    );
    limited.end().await;
}

#[tokio::test]
async fn the_manifest_for_a_cluster_allows_all_that_is_needed() {
    does_everything("cluster", false).await;
}

#[tokio::test]
async fn the_manifest_for_a_namespace_allows_all_that_is_needed() {
    does_everything("namespaced", true).await;
}

/// So that what is shown for one holds for the other. Needs no cluster.
#[test]
fn the_manifests_differ_by_nodes_alone() {
    let plain = |manifest: &str| -> BTreeSet<Right> {
        let rights = of_manifest(manifest).into_iter();
        rights
            .map(|right| Right {
                everywhere: false,
                ..right
            })
            .collect()
    };
    let (cluster, namespaced) = (plain("cluster"), plain("namespaced"));
    let more: Vec<String> = cluster.difference(&namespaced).map(Right::to_string).collect();
    assert_eq!(more, ["list nodes", "watch nodes"]);
    assert_eq!(namespaced.difference(&cluster).count(), 0);
}

/// Whether the operator is refused something without `right`.
async fn is_needed(rights: &BTreeSet<Right>, right: &Right) -> bool {
    let rest: BTreeSet<_> = rights.iter().filter(|one| *one != right).cloned().collect();
    // Newer API servers begin a watch with the list; elsewhere it is a request of its own.
    let limited = Limited::new(&rest, right.verb == "list").await;
    let began = Instant::now();
    let needed = tokio::select! {
        () = limited.refused(right) => true,
        () = life(&limited.place) => false,
    };
    println!(
        "without {right}: {} after {:?}",
        if needed { "refused" } else { "NOTHING MISSED" },
        began.elapsed()
    );
    limited.end().await;
    needed
}

#[tokio::test]
async fn without_any_one_right_something_is_refused_and_the_log_says_what() {
    let rights = of_manifest("cluster");
    let looked = stream::iter(&rights).map(|right| {
        let rights = &rights;
        async move { (right.to_string(), is_needed(rights, right).await) }
    });
    let looked: Vec<_> = looked.buffer_unordered(AT_ONCE).collect().await;
    let needless: Vec<_> = looked
        .iter()
        .filter(|(_, needed)| !needed)
        .map(|(right, _)| right)
        .collect();
    println!(
        "{} rights, {} of them needed",
        looked.len(),
        looked.len() - needless.len()
    );
    assert!(needless.is_empty(), "{needless:#?}");
}
