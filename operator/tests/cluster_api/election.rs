//! Leader election between two replicas when the leader exits.

use std::time::Instant;

use super::start;
use test_support::cluster::{TIMEOUT, client, create_namespace, until};
use test_support::proxy::Proxy;

#[tokio::test]
async fn second_replica_takes_over_after_sigterm() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let mut first = start::with_election(&proxy.kubeconfig, &namespace);
    until(|| async { (first.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let second = start::with_election(&proxy.kubeconfig, &namespace);
    second.ready().await;
    assert_eq!(second.metric("fabricbench_leading"), 0.0);
    let terminated = Instant::now();
    first.signal("TERM");
    assert!(first.wait(TIMEOUT).await.success());
    println!("exited {:?} after SIGTERM", terminated.elapsed());
    until(|| async { (second.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    println!(
        "the second replica became leader {:?} after SIGTERM",
        terminated.elapsed()
    );
    assert!(
        terminated.elapsed().as_secs() < 12,
        "the second replica must not wait for a released Lease to expire"
    );
}

#[tokio::test]
async fn second_replica_takes_over_when_a_killed_leaders_lease_expires() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let mut first = start::with_election(&proxy.kubeconfig, &namespace);
    until(|| async { (first.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let second = start::with_election(&proxy.kubeconfig, &namespace);
    second.ready().await;
    let killed = Instant::now();
    first.signal("KILL");
    first.wait(TIMEOUT).await;
    until(|| async { (second.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    println!(
        "the second replica became leader {:?} after SIGKILL",
        killed.elapsed()
    );
    assert!(
        killed.elapsed().as_secs() >= 10,
        "no replica may become leader before the Lease expires"
    );
}

/// If a container is killed, the kubelet restarts it in the same pod's network namespace. The two processes in this
/// test also share a network namespace.
#[tokio::test]
async fn restarted_leader_resumes_immediately() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let mut first = start::with_election(&proxy.kubeconfig, &namespace);
    until(|| async { (first.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let standby = start::with_election(&proxy.kubeconfig, &namespace);
    standby.ready().await;
    let killed = Instant::now();
    first.signal("KILL");
    first.wait(TIMEOUT).await;
    let restarted = start::with_election(&proxy.kubeconfig, &namespace);
    until(|| async { (restarted.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    println!("the restarted replica leads {:?} after SIGKILL", killed.elapsed());
    assert!(
        killed.elapsed().as_secs() < 5,
        "a restarted leader must not wait for its own Lease to expire"
    );
    assert_eq!(standby.metric("fabricbench_leading"), 0.0);
}
