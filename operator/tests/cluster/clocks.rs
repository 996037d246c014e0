//! Clocks that are wrong by an hour: of the operator, and of the kubelets. A campaign has the same cases, its deadlines do not
//! pass early, and a lost worker is recognized.

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::api::DeleteParams;

use super::kills::run_undisturbed;
use super::lane::Lane;
use super::nodes::reserve_nodes;
use super::start;
use super::test_namespace::with_rounds;
use crds::v1alpha1::{AttemptState, AttemptStatus};
use test_support::operator::Operator;
use test_support::proxy::{Proxy, ProxyOptions};

/// An hour in seconds.
const HOUR: i64 = 3600;
/// Number of rounds of the campaign.
const ROUNDS: u32 = 20;
/// Limit on the time of the campaign, in seconds. It is shorter than an hour.
const DEADLINE: u32 = 600;

#[tokio::test]
async fn campaign_does_not_depend_on_the_clocks_of_nodes() {
    let nodes = reserve_nodes().await;
    let lane = Lane::new(&nodes).await;
    let mut run = with_rounds("undisturbed", ROUNDS);
    run.spec.run_policy.active_deadline_seconds = DEADLINE;
    let (cases, ..) = run_undisturbed(&lane, &run).await;
    // The worst case is that one clock is ahead and the other one behind.
    for (name, ahead) in [("fast-kubelets", HOUR), ("slow-kubelets", -HOUR)] {
        let (_proxy, _operator) = skewed(&lane, -ahead, ahead).await;
        let mut run = run.clone();
        run.metadata.name = Some(name.to_owned());
        let created = lane.namespace.create(&run).await;
        lane.namespace.wait_for_blocks(name, 2).await;
        let worker = lane.namespace.worker(1).await.unwrap().name_any();
        let now = DeleteParams::default().grace_period(0);
        lane.namespace.pods.delete(&worker, &now).await.unwrap();
        let execution = lane.namespace.wait_for_completion(name).await.execution.unwrap();
        println!("{name}: {:#?}", execution.attempts);
        let states: Vec<_> = execution.attempts.iter().map(|attempt| attempt.state).collect();
        assert_eq!(states, [AttemptState::Disrupted, AttemptState::Measured]);
        assert_eq!(execution.attempts[0].reason.as_deref(), Some("PodDeleted"));
        assert_times(&execution.attempts, created.creation_timestamp().unwrap().0);
        assert!(execution.active_seconds < u64::from(DEADLINE));
        let tally = lane.finish(name, &cases).await;
        assert_eq!((tally.lost, tally.duplicated, tally.unknown_jobs), (0, 0, 0));
    }
    lane.close().await;
}

/// Starts an operator whose clock is `operator_ahead` seconds ahead, and which sees kubelets whose clocks are `kubelets_ahead`
/// seconds ahead.
async fn skewed(lane: &Lane, operator_ahead: i64, kubelets_ahead: i64) -> (Proxy, Operator) {
    let options = ProxyOptions {
        kubelets_ahead,
        ..ProxyOptions::default()
    };
    let proxy = Proxy::with_options(&lane.namespace.client, options).await;
    let arguments = ["--no-leader-election", "--namespace", &lane.namespace.name];
    let operator = start::operator_with_clock(&proxy.kubeconfig, &arguments, operator_ahead);
    (proxy, operator)
}

/// Checks that the times of the attempts are between `created` and now, in order.
fn assert_times(attempts: &[AttemptStatus], created: Timestamp) {
    let time = |text: &Option<String>| text.as_ref().unwrap().parse::<Timestamp>().unwrap();
    let times = attempts
        .iter()
        .flat_map(|attempt| [time(&attempt.started_at), time(&attempt.finished_at)]);
    let tolerance = SignedDuration::from_secs(5);
    let all: Vec<_> = [created - tolerance]
        .into_iter()
        .chain(times)
        .chain([Timestamp::now() + tolerance])
        .collect();
    assert!(all.is_sorted(), "{all:?}");
}
