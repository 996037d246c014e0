//! A thousand runs at once, and as many runs as a day has, batch after batch. The cluster has no controllers and no kubelets,
//! so each run gets as far as its first Job, and the tests take the part of the garbage collector.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::places::{Case, create_pod};
use super::start;
use test_support::cluster::{all, client, create_namespace, delete_namespace, kubeconfig, run, until_within};
use test_support::env_number;
use test_support::operator::MAX_GROWTH_KIB;

/// Number of runs that are created at once.
const AT_ONCE: usize = 1000;
/// Environment variable with the number of runs that take turns. The default is 100.
const TURNS: &str = "FABRICBENCH_TURNS";
/// A run every five minutes of a day, as a number of batches and of runs in a batch.
const DAY: (usize, usize) = (12, 24);
/// Number of batches after which the memory and the connections of the operator are compared with those at the end.
const WARM_UP: usize = 3;
/// Environment variable with the number of days. The default is 1. With 20, a leak of 400 bytes for each run would exceed the
/// maximum growth of the memory.
const DAYS: &str = "FABRICBENCH_DAYS";
/// Maximum number of requests of the operator for each turn. If every turn changed the statuses of all waiting runs, there would
/// be as many as half of the runs.
const MAX_REQUESTS_PER_TURN: f64 = 16.0;
/// Number of requests that the test sends at the same time.
const REQUESTS: usize = 16;
/// Maximum time to wait for all runs.
const TIMEOUT: Duration = Duration::from_secs(240);

/// Creates runs named `PREFIX-0`, `PREFIX-1` and so on. A queue would determine their order, so they do not wait for each
/// other.
async fn create(client: &Client, namespace: &str, prefix: &str, count: usize) {
    let runs: &Api<BenchmarkRun> = &Api::namespaced(client.clone(), namespace);
    stream::iter(0..count)
        .for_each_concurrent(REQUESTS, |number| async move {
            let mut run = run(&format!("{prefix}-{number}"));
            run.spec.placement.queue_name = Some("queue".to_owned());
            runs.create(&PostParams::default(), &run).await.unwrap();
        })
        .await;
}

/// Deletes all runs, and waits until the operator has deleted their Jobs. What is left must be left to the garbage collector.
async fn delete_all(client: &Client, namespace: &str) {
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), namespace);
    runs.delete_collection(&DeleteParams::default(), &ListParams::default())
        .await
        .unwrap();
    wait_for_count::<BenchmarkRun>(client, namespace, 0).await;
    assert_eq!(count::<Job>(client, namespace).await, 0, "Jobs of deleted runs");
    collect_garbage::<Service>(client, namespace).await;
    collect_garbage::<ConfigMap>(client, namespace).await;
}

/// Deletes the objects of deleted runs, as the garbage collector would. Fails if such an object has no owner.
async fn collect_garbage<K>(client: &Client, namespace: &str)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let managed = format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY);
    let managed = ListParams::default().labels(&managed);
    for object in api.list_metadata(&managed).await.unwrap() {
        assert!(!object.owner_references().is_empty(), "{object:?}");
    }
    api.delete_collection(&DeleteParams::background(), &managed)
        .await
        .unwrap();
}

/// Returns the number of objects of a kind.
async fn count<K>(client: &Client, namespace: &str) -> usize
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let first = api.list_metadata(&ListParams::default().limit(1)).await.unwrap();
    let remaining = first.metadata.remaining_item_count.unwrap_or(0);
    first.items.len() + usize::try_from(remaining).unwrap()
}

async fn wait_for_count<K>(client: &Client, namespace: &str, expected: usize)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
{
    until_within(TIMEOUT, || async {
        (count::<K>(client, namespace).await == expected).then_some(())
    })
    .await;
}

/// Waits until `count` runs have a recorded attempt. Returns the UIDs of their Jobs by the UID of the run.
async fn wait_for_attempts(client: &Client, namespace: &str, count: usize) -> BTreeMap<String, String> {
    wait_for_count::<Service>(client, namespace, count).await;
    until_within(TIMEOUT, || async {
        let runs: Vec<BenchmarkRun> = all(client, namespace).await;
        let recorded = runs.into_iter().filter_map(|run| {
            let uid = run.metadata.uid.clone()?;
            let attempt = run.status?.execution?.attempts.pop()?;
            Some((uid, attempt.job_uid))
        });
        let recorded: BTreeMap<_, _> = recorded.collect();
        (recorded.len() == count).then_some(recorded)
    })
    .await
}

/// The operator is killed when half of the runs have a Job. The next one completes the work: each run has one Job and one
/// Service.
#[tokio::test]
async fn thousand_runs_at_once_get_one_job_each_although_the_operator_is_killed() {
    let client = &client().await;
    let namespace = &create_namespace(client).await;
    let started = Instant::now();
    let operator = start::without_election(&kubeconfig(), namespace);
    let kill = async {
        until_within(TIMEOUT, || async {
            (count::<Job>(client, namespace).await >= AT_ONCE / 2).then_some(())
        })
        .await;
        drop(operator);
        let (killed, jobs) = (Instant::now(), count::<Job>(client, namespace).await);
        assert!(jobs < AT_ONCE, "the operator was killed too late");
        let next = start::without_election(&kubeconfig(), namespace);
        until_within(TIMEOUT, || async {
            (count::<Job>(client, namespace).await > jobs).then_some(())
        })
        .await;
        println!(
            "killed with {jobs} Jobs; the next operator continued after {:?}",
            killed.elapsed()
        );
        next
    };
    let ((), next) = futures::join!(create(client, namespace, "many", AT_ONCE), kill);
    wait_for_count::<Job>(client, namespace, AT_ONCE).await;
    println!("{AT_ONCE} runs have their Job after {:?}", started.elapsed());
    let recorded = wait_for_attempts(client, namespace, AT_ONCE).await;
    println!(
        "{AT_ONCE} Jobs are recorded after {:?}; the operator needs {} KiB",
        started.elapsed(),
        next.memory_kib("VmRSS")
    );
    let jobs: Vec<Job> = all(client, namespace).await;
    let jobs: BTreeMap<_, _> = jobs
        .iter()
        .map(|job| (job.uid().unwrap(), job.owner_references()[0].uid.clone()))
        .collect();
    let of_runs: BTreeMap<_, _> = recorded
        .iter()
        .map(|(run, job)| (job.clone(), run.clone()))
        .collect();
    assert_eq!(
        jobs, of_runs,
        "a run without its Job, or a Job that no run has recorded"
    );
    assert_eq!(count::<Service>(client, namespace).await, AT_ONCE);
    let deleting = Instant::now();
    delete_all(client, namespace).await;
    println!("{AT_ONCE} runs are deleted after {:?}", deleting.elapsed());
    delete_namespace(client, namespace).await;
}

/// Runs without a queue take turns on the same nodes. Each gang is placed before the next one is created, the namespaces
/// alternate, and the runs of a namespace have their turns in the order in which they were created.
#[tokio::test]
async fn runs_at_once_take_turns_in_order() {
    let client = &client().await;
    let case = Case::new(client).await;
    let runs = env_number(TURNS).unwrap_or(100);
    let namespaces = [&case.first, &case.second];
    stream::iter((0..runs).map(|number| (number, namespaces[number % 2])))
        .for_each_concurrent(REQUESTS, |(number, namespace)| {
            let case = &case;
            async move {
                case.run(namespace, &format!("turn-{number}"), |run| {
                    run.spec.placement.exclusive = false;
                })
                .await;
            }
        })
        .await;
    let mut expected = BTreeMap::new();
    for namespace in namespaces {
        let mut runs: Vec<BenchmarkRun> = all(client, namespace).await;
        runs.sort_by_key(|run| (run.creation_timestamp(), run.uid()));
        let uids: Vec<_> = runs.iter().map(|run| run.uid().unwrap()).collect();
        expected.insert(namespace, uids);
    }
    let started = Instant::now();
    let operator = start::for_all_namespaces(&kubeconfig());
    let jobs: Api<Job> = Api::all(client.clone());
    let jobs = watcher(jobs, watcher::Config::default()).applied_objects();
    let mut jobs = std::pin::pin!(jobs);
    let mut turns: Vec<(String, String)> = Vec::new();
    while turns.len() < runs {
        let job = tokio::time::timeout(TIMEOUT, jobs.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let namespace = job.namespace().unwrap();
        // Other tests leave Jobs, some of which have no owner.
        if !namespaces.contains(&&namespace) {
            continue;
        }
        let turn = (namespace, job.owner_references()[0].uid.clone());
        if turns.contains(&turn) {
            continue;
        }
        turns.push(turn);
        create_pod(client, &job, 0, Some(&case.nodes[0])).await.unwrap();
        let others = count::<Job>(client, &case.first).await + count::<Job>(client, &case.second).await;
        assert_eq!(
            others,
            turns.len(),
            "a gang was created before this one was placed"
        );
        create_pod(client, &job, 1, Some(&case.nodes[1])).await.unwrap();
    }
    let elapsed = started.elapsed();
    let metrics = operator.metrics();
    let sum = |prefix: &str| -> f64 {
        let matching = metrics.iter().filter(|(name, _)| name.starts_with(prefix));
        matching.map(|(_, value)| value).sum()
    };
    let requests = sum("fabricbench_api_request_duration_seconds_count");
    let reconciliations = sum("fabricbench_reconcile_duration_seconds_count");
    println!("{runs} turns in {elapsed:?}, {requests} requests, {reconciliations} reconciliations");
    // When the first run had its turn, the operator did not know the others.
    for (turn, next) in turns.iter().skip(1).zip(turns.iter().skip(2)) {
        assert_ne!(turn.0, next.0, "two turns in a row: {turns:?}");
    }
    for (namespace, expected) in expected {
        let uids = turns
            .iter()
            .filter(|turn| turn.0 == *namespace)
            .map(|(_, uid)| uid.clone());
        let without_first = |uids: Vec<String>| -> Vec<String> {
            uids.into_iter().filter(|uid| *uid != turns[0].1).collect()
        };
        assert_eq!(without_first(uids.collect()), without_first(expected));
    }
    assert!(
        requests <= MAX_REQUESTS_PER_TURN * runs as f64,
        "{requests} requests"
    );
    case.delete().await;
}

/// Creates and deletes the runs of a day in batches. Afterwards, neither memory nor connections nor objects have increased.
#[tokio::test]
async fn day_of_runs_leaves_nothing_behind() {
    let client = &client().await;
    let namespace = &create_namespace(client).await;
    let operator = start::without_election(&kubeconfig(), namespace);
    operator.ready().await;
    let idle_files = operator.open_files();
    let (batches, runs) = DAY;
    let batches = batches * env_number(DAYS).unwrap_or(1);
    let mut memory = Vec::new();
    let started = Instant::now();
    for batch in 0..WARM_UP + batches {
        create(client, namespace, &format!("batch-{batch}"), runs).await;
        wait_for_attempts(client, namespace, runs).await;
        delete_all(client, namespace).await;
        memory.push(operator.memory_kib("VmRSS"));
    }
    println!(
        "{} runs in {:?}; memory after each batch: {memory:?} KiB",
        (WARM_UP + batches) * runs,
        started.elapsed()
    );
    let (warm, last) = (memory[WARM_UP - 1], memory[memory.len() - 1]);
    assert!(last <= warm + MAX_GROWTH_KIB, "the memory grew: {memory:?} KiB");
    // Connections that are no longer needed are closed after some seconds.
    until_within(TIMEOUT, || async {
        (operator.open_files() <= idle_files).then_some(())
    })
    .await;
    delete_namespace(client, namespace).await;
}
