//! Two replicas and one Lease, and the end of a replica.

use std::time::Instant;

use super::cluster::{client, namespace, until};
use super::operator::Operator;
use super::proxy::Proxy;

#[tokio::test]
async fn one_of_two_leads_and_the_other_follows_a_sigterm() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let mut first = Operator::start(&proxy.kubeconfig, &namespace);
    until(|| async { (first.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let second = Operator::start(&proxy.kubeconfig, &namespace);
    second.ready().await;
    assert_eq!(second.metric("fabricbench_leading"), 0.0);
    let told = Instant::now();
    first.signal("TERM");
    assert!(first.end().await.success());
    println!("left {:?} after SIGTERM", told.elapsed());
    until(|| async { (second.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    println!("the other led {:?} after SIGTERM", told.elapsed());
    assert!(
        told.elapsed().as_secs() < 12,
        "a Lease that was given back need not run out"
    );
}

#[tokio::test]
async fn a_killed_leader_is_followed_when_its_lease_has_run_out() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let mut first = Operator::start(&proxy.kubeconfig, &namespace);
    until(|| async { (first.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let second = Operator::start(&proxy.kubeconfig, &namespace);
    second.ready().await;
    let killed = Instant::now();
    first.signal("KILL");
    first.end().await;
    until(|| async { (second.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    println!("the other led {:?} after SIGKILL", killed.elapsed());
    assert!(
        killed.elapsed().as_secs() >= 10,
        "nobody leads while the Lease holds"
    );
}
