//! Thirty runs at once, as often as a day has them. They take turns on all nodes of the cluster.

use std::time::Instant;

use crds::v1alpha1::BenchmarkRun;
use futures::future::join_all;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::DeleteParams;

use crate::nodes::reserve_cluster;
use crate::test_namespace::{TIMEOUT, TestNamespace, with_rounds};
use test_support::cluster::{all, until_within};
use test_support::env_number;
use test_support::operator::MAX_GROWTH_KIB;

/// Number of runs that are created at once.
const RUNS: usize = 30;
/// Environment variable that sets how often they are created. The default is 1, with which the memory is only printed. With
/// 10, there are as many runs as in a day that has one every five minutes.
const BATCHES: &str = "FABRICBENCH_BATCHES";
/// Number of batches after which the memory of the operator is compared with the memory at the end.
const WARM_UP: usize = 2;
/// Number of runs that may have their turn in another order, because the operator has just started and does not yet know the
/// others.
const FIRST: usize = 3;

#[tokio::test]
async fn thirty_runs_at_once_complete_in_order_without_a_disruption() {
    let nodes = reserve_cluster().await;
    let namespace = TestNamespace::new(&nodes).await;
    let names: Vec<_> = (0..RUNS).map(|number| format!("at-once-{number}")).collect();
    create(&namespace, &names).await;
    let (_proxy, operator) = namespace.cluster_operator().await;
    operator.ready().await;
    let idle_files = operator.open_files();
    let mut memory = Vec::new();
    for batch in 0..env_number(BATCHES).unwrap_or(1) {
        let started = Instant::now();
        if batch > 0 {
            create(&namespace, &names).await;
        }
        for name in &names {
            let execution = namespace.wait_for_completion(name).await.execution.unwrap();
            assert_eq!(
                (execution.disruptions, execution.preemptions),
                (0, 0),
                "{name}: {execution:#?}"
            );
        }
        println!("{RUNS} runs are complete after {:?}", started.elapsed());
        if batch == 0 {
            assert_in_order(&namespace).await;
        }
        for name in &names {
            namespace
                .runs
                .delete(name, &DeleteParams::default())
                .await
                .unwrap();
        }
        until_within(TIMEOUT, || async {
            all::<BenchmarkRun>(&namespace.client, &namespace.name)
                .await
                .is_empty()
                .then_some(())
        })
        .await;
        until_within(TIMEOUT, || async {
            (operator.open_files() <= idle_files).then_some(())
        })
        .await;
        memory.push(operator.memory_kib("VmRSS"));
    }
    println!("memory after each batch: {memory:?} KiB");
    if memory.len() > WARM_UP {
        let (warm, last) = (memory[WARM_UP - 1], memory[memory.len() - 1]);
        assert!(last <= warm + MAX_GROWTH_KIB, "the memory grew: {memory:?} KiB");
    } else {
        println!("too few batches to compare the memory: {BATCHES} must be more than {WARM_UP}");
    }
    namespace.delete().await;
}

async fn create(namespace: &TestNamespace, names: &[String]) {
    let runs: Vec<_> = names.iter().map(|name| with_rounds(name, 1)).collect();
    join_all(runs.iter().map(|run| namespace.create(run))).await;
}

/// Checks that the runs had their turns in the order in which they were created. Times have whole seconds, and runs that were
/// created in the same second are in the order of their UIDs.
async fn assert_in_order(namespace: &TestNamespace) {
    let mut runs: Vec<BenchmarkRun> = all(&namespace.client, &namespace.name).await;
    runs.sort_by_key(|run| (run.creation_timestamp(), run.uid()));
    let mut jobs: Vec<Job> = all(&namespace.client, &namespace.name).await;
    jobs.sort_by_key(ResourceExt::creation_timestamp);
    let turns = runs.iter().map(|run| {
        let is_of_run = |job: &&Job| job.owner_references()[0].uid == run.uid().unwrap();
        let job = jobs.iter().find(is_of_run).unwrap();
        // The first turn in the same second.
        let created = job.creation_timestamp();
        jobs.iter()
            .position(|other| other.creation_timestamp() == created)
            .unwrap()
    });
    let turns: Vec<_> = turns.collect();
    println!("turns in the order of creation: {turns:?}");
    let mut later = turns.clone();
    later.retain(|turn| *turn >= FIRST);
    assert!(later.is_sorted(), "{turns:?}");
}
