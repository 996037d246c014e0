//! Suspended, resumed, edited, deleted, out of time: what a user does to a run that is going on.

use crds::v1alpha1::State;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::DeleteParams;
use serde_json::json;

use super::campaign::{PATIENCE, Place, condition, done, with_rounds};
use super::cluster::{all, run, until_within};

#[tokio::test]
async fn suspended_its_pods_go_and_resumed_only_the_missing_is_measured() {
    let place = Place::new().await;
    let _operator = place.operator();
    place.create(&with_rounds("suspended", 30)).await;
    place.measured("suspended", 2).await;
    place
        .patch("suspended", json!({"spec": {"suspend": true}}))
        .await
        .unwrap();
    until_within(PATIENCE, || async {
        let status = place.status("suspended").await;
        let gone = place
            .pods
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .is_empty();
        (status.state == Some(State::Suspended) && gone).then_some(())
    })
    .await;
    let status = place.status("suspended").await;
    assert_eq!(condition(&status, "Suspended").unwrap().0, "True");
    let before = (done(&status), status.execution.as_ref().unwrap().active_seconds);
    assert!(before.0 >= 2, "finished blocks stay");
    assert_eq!(
        status.execution.as_ref().unwrap().active_since,
        None,
        "the clock stands still"
    );
    place
        .patch("suspended", json!({"spec": {"suspend": false}}))
        .await
        .unwrap();
    let status = place.completed("suspended").await;
    println!(
        "suspended after {} of {} blocks, {} s",
        before.0,
        done(&status),
        before.1
    );
    assert_eq!(status.execution.unwrap().attempts.len(), 2);
    place.leave().await;
}

#[tokio::test]
async fn what_is_measured_cannot_be_edited_and_a_deleted_run_takes_everything_with_it() {
    let place = Place::new().await;
    let _operator = place.operator();
    place.create(&with_rounds("deleted", 30)).await;
    place.measured("deleted", 1).await;
    let refused = place
        .patch("deleted", json!({"spec": {"sampling": {"rounds": 31}}}))
        .await;
    let refused = refused.unwrap_err().to_string();
    println!("edited: {refused}");
    assert!(
        refused.contains("suspend"),
        "it says what may be edited: {refused}"
    );
    place
        .patch(
            "deleted",
            json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 3600}}}),
        )
        .await
        .unwrap();

    place
        .runs
        .delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    until_within(PATIENCE, || async {
        // Never is the run gone while a pod of it is there.
        let gone = place.runs.get_opt("deleted").await.unwrap().is_none();
        let pods = place.pods.list(&Default::default()).await.unwrap().items;
        assert!(!gone || pods.is_empty());
        gone.then_some(())
    })
    .await;
    until_within(PATIENCE, || async {
        let left = all::<Job>(&place.client, &place.namespace).await.len()
            + all::<Service>(&place.client, &place.namespace).await.len()
            + all::<ConfigMap>(&place.client, &place.namespace)
                .await
                .iter()
                .filter(|map| map.metadata.owner_references.is_some())
                .count();
        (left == 0).then_some(())
    })
    .await;
    place.leave().await;
}

#[tokio::test]
async fn a_namespace_is_deleted_with_a_run_in_it() {
    let place = Place::new().await;
    let operator = place.operator_of_all();
    place.create(&with_rounds("namespace", 30)).await;
    place.measured("namespace", 1).await;
    place.leave().await;
    operator.ready().await;
}

#[tokio::test]
async fn a_finished_run_keeps_its_pods_and_goes_when_its_time_has_come() {
    let place = Place::new().await;
    let _operator = place.operator();
    place.create(&run("finished")).await;
    place.completed("finished").await;
    let log = place.worker(0).await.unwrap().metadata.name.unwrap();
    let log = place.pods.logs(&log, &Default::default()).await.unwrap();
    assert!(log.starts_with("{\"seq\":0"), "its log can still be read");
    place
        .patch(
            "finished",
            json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}}),
        )
        .await
        .unwrap();
    place.gone("finished").await;
    place.leave().await;
}

#[tokio::test]
async fn out_of_time_it_fails_and_keeps_what_it_has() {
    let place = Place::new().await;
    let _operator = place.operator();
    let mut run = with_rounds("slow", 60);
    run.spec.run_policy.active_deadline_seconds = 10;
    run.spec.scenarios[0].ping_pong.as_mut().unwrap().iterations = Some(20_000);
    place.create(&run).await;
    let status = place.ended("slow").await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}; {} blocks kept", done(&status));
    assert_eq!(
        (status.state, reason.as_str()),
        (Some(State::Failed), "DeadlineExceeded")
    );
    let run = place.runs.get("slow").await.unwrap();
    assert!(done(&status) > 0 && !place.lines(&run).await.is_empty());
    place.leave().await;
}
