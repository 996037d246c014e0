//! Gang placement, and the messages about gangs that cannot be placed.

use crds::v1alpha1::State;

use super::nodes::{reserve_nodes, share_nodes};
use super::test_namespace::{TIMEOUT, TestNamespace, condition};
use test_support::cluster::{run, until_within};

#[tokio::test]
async fn reports_insufficient_nodes_before_creating_pods() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.cluster_operator().await;
    let mut greedy = run("greedy");
    greedy.spec.resources.efas = 40;
    namespace.create(&greedy).await;
    let message = until_within(TIMEOUT, || async {
        let (_, _, message) = condition(&namespace.status("greedy").await, "Running")?;
        message.contains("EFA").then_some(message)
    })
    .await;
    println!("greedy: {message}");
    assert!(
        nodes
            .names
            .iter()
            .all(|node| message.contains(&format!("{node}: 32 of 40 EFA devices"))),
        "{message}"
    );
    assert!(
        namespace
            .pods
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    namespace.delete().await;
}

#[tokio::test]
async fn reports_the_scheduler_message_without_access_to_nodes() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut greedy = run("pending");
    greedy.spec.resources.efas = 40;
    greedy.spec.run_policy.pending_deadline_seconds = 10;
    namespace.create(&greedy).await;
    let status = namespace.wait_for_end("pending").await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}");
    assert_eq!(
        (status.state, reason.as_str()),
        (Some(State::Failed), "PendingDeadlineExceeded")
    );
    assert!(
        message.contains("Insufficient vpc.amazonaws.com/efa"),
        "{message}"
    );
    assert!(
        status.warnings.iter().any(|warning| warning.contains("node")),
        "{:?}",
        status.warnings
    );
    namespace.delete().await;
}

#[tokio::test]
async fn exclusive_runs_on_the_same_nodes_run_one_after_another() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.cluster_operator().await;
    let exclusive = |name: &str| {
        let mut run = run(name);
        run.spec.placement.exclusive = true;
        (run.spec.resources.gpus, run.spec.resources.efas) = (8, 32);
        run
    };
    namespace.create(&exclusive("first")).await;
    namespace.create(&exclusive("second")).await;
    // Creation times have a resolution of one second, so either run may be first.
    let message = until_within(TIMEOUT, || async {
        for name in ["first", "second"] {
            let (_, reason, message) = condition(&namespace.status(name).await, "Running")?;
            if reason == "WaitingForNodes" {
                return Some(message);
            }
        }
        None
    })
    .await;
    println!("{message}");
    namespace.wait_for_completion("first").await;
    namespace.wait_for_completion("second").await;
    namespace.delete().await;
}
