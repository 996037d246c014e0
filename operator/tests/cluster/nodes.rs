//! Coordinates access to the nodes by concurrent tests. The nodes form pairs, and each test's pods run only on one
//! pair, unless the test reserves the whole cluster. A test spends most of its time waiting, so several tests run
//! concurrently on one machine.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use test_support::cluster::client;

/// Number of gangs that fit on a pair, because each node has the CPUs of the machine, at least two, and each worker
/// requests one.
pub const GANGS_PER_PAIR: u32 = 2;

/// Node label whose value is the index of the node's pair.
const PAIR: &str = "fabricbench.dev/test-pair";

/// Two nodes, with one permit for each gang.
struct Pair {
    gangs: Semaphore,
    nodes: [String; 2],
}

/// The pairs of all nodes in the cluster.
static PAIRS: OnceCell<Vec<Pair>> = OnceCell::const_new();

/// The nodes that a test may use until this value is dropped.
pub struct Nodes {
    /// Labels that select these nodes; empty for all nodes.
    pub selector: BTreeMap<String, String>,
    /// Names of these nodes.
    pub names: Vec<String>,
    _permits: Vec<SemaphorePermit<'static>>,
}

/// Waits until a pair has room for a gang. This is for tests whose workers request one CPU each.
pub async fn share_nodes() -> Nodes {
    acquire(1).await
}

/// Waits until no other test is using one of the pairs. This is for tests that disturb nodes, that start several gangs at
/// once, or whose workers request two CPUs, as by default.
pub async fn reserve_nodes() -> Nodes {
    acquire(GANGS_PER_PAIR).await
}

/// Number of pairs that [`reserve_cluster`] requires. The runs of its callers need up to five nodes.
const MIN_PAIRS: usize = 3;

/// Waits until no other test is using the cluster.
pub async fn reserve_cluster() -> Nodes {
    let mut permits = Vec::new();
    let pairs = pairs().await;
    assert!(
        pairs.len() >= MIN_PAIRS,
        "this test needs at least {0} nodes: testbed/testbed up --nodes {0}",
        2 * MIN_PAIRS
    );
    // All tests reserve the pairs in the same order, so that two tests cannot wait for each other.
    for pair in pairs {
        permits.push(pair.gangs.acquire_many(GANGS_PER_PAIR).await.unwrap());
    }
    Nodes {
        selector: BTreeMap::new(),
        names: pairs.iter().flat_map(|pair| pair.nodes.clone()).collect(),
        _permits: permits,
    }
}

async fn acquire(gangs: u32) -> Nodes {
    let waits = pairs().await.iter().enumerate().map(|(index, pair)| {
        Box::pin(async move {
            Nodes {
                selector: [(PAIR.to_owned(), index.to_string())].into(),
                names: pair.nodes.to_vec(),
                _permits: vec![pair.gangs.acquire_many(gangs).await.unwrap()],
            }
        })
    });
    futures::future::select_all(waits).await.0
}

async fn pairs() -> &'static [Pair] {
    PAIRS
        .get_or_init(|| async { label_pairs(&client().await).await })
        .await
}

/// Labels the nodes of each pair.
async fn label_pairs(client: &Client) -> Vec<Pair> {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut names: Vec<String> = nodes
        .list(&Default::default())
        .await
        .unwrap()
        .iter()
        .map(Node::name_any)
        .collect();
    names.sort();
    let mut pairs = Vec::new();
    for (index, names) in names.as_chunks::<2>().0.iter().enumerate() {
        let label = json!({"metadata": {"labels": {PAIR: index.to_string()}}});
        for name in names {
            nodes
                .patch(name, &PatchParams::default(), &Patch::Merge(&label))
                .await
                .unwrap();
        }
        pairs.push(Pair {
            gangs: Semaphore::new(GANGS_PER_PAIR as usize),
            nodes: names.clone(),
        });
    }
    assert!(!pairs.is_empty(), "the tests need at least two nodes: {names:?}");
    pairs
}
