//! Where gangs are placed, and what is said when they cannot be.

use crds::v1alpha1::State;

use super::campaign::{PATIENCE, Place, condition};
use super::cluster::{run, until_within};

#[tokio::test]
async fn nodes_that_lack_something_are_named_before_anything_is_created() {
    let place = Place::new().await;
    let _operator = place.operator_of_all();
    let mut greedy = run("greedy");
    greedy.spec.resources.efas = 40;
    place.create(&greedy).await;
    let told = until_within(PATIENCE, || async {
        let (_, _, message) = condition(&place.status("greedy").await, "Running")?;
        message.contains("EFA").then_some(message)
    })
    .await;
    println!("greedy: {told}");
    assert!(
        told.contains("node-1: 32 of 40 EFA devices") && told.contains("node-2"),
        "{told}"
    );
    assert!(
        place
            .pods
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    place.leave().await;
}

#[tokio::test]
async fn without_a_look_at_nodes_the_schedulers_words_are_shown() {
    let place = Place::new().await;
    let _operator = place.operator();
    let mut greedy = run("pending");
    greedy.spec.resources.efas = 40;
    greedy.spec.run_policy.pending_deadline_seconds = 10;
    place.create(&greedy).await;
    let status = place.ended("pending").await;
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
    place.leave().await;
}

#[tokio::test]
async fn two_runs_over_the_same_two_nodes_follow_each_other() {
    let place = Place::new().await;
    let _operator = place.operator_of_all();
    let exclusive = |name: &str| {
        let mut run = run(name);
        run.spec.placement.exclusive = true;
        (run.spec.resources.gpus, run.spec.resources.efas) = (8, 32);
        run
    };
    place.create(&exclusive("first")).await;
    place.create(&exclusive("second")).await;
    // Of two of the same second either may come first.
    let told = until_within(PATIENCE, || async {
        for name in ["first", "second"] {
            let (_, reason, message) = condition(&place.status(name).await, "Running")?;
            if reason == "WaitingForNodes" {
                return Some(message);
            }
        }
        None
    })
    .await;
    println!("{told}");
    place.completed("first").await;
    place.completed("second").await;
    place.leave().await;
}
