//! Tests for the conversion from API objects.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};

use super::*;
use crate::run_controller::attempt_id::AttemptId;

fn pod(status: &str) -> PodState {
    pod_at(status, Timestamp::MAX)
}

fn pod_at(status: &str, now: Timestamp) -> PodState {
    let text = format!(
        "
metadata:
  name: fb-ca978112ca-l3-a2-1-x7k2p
  uid: pod-uid
  creationTimestamp: '2026-03-01T09:59:58Z'
  labels:
    fabricbench.dev/run-uid: a
    fabricbench.dev/leg: '3'
    fabricbench.dev/attempt: '2'
    batch.kubernetes.io/job-completion-index: '1'
  ownerReferences:
  - {{apiVersion: batch/v1, kind: Job, name: fb-ca978112ca-l3-a2, uid: job-uid, controller: true}}
spec: {{nodeName: ip-10-0-0-1, containers: []}}
status:{status}
"
    );
    let pod: Pod = serde_yaml::from_str(&text).unwrap();
    for forge in FORGERIES {
        let mut forged = pod.clone();
        forge(&mut forged);
        assert_eq!(PodState::from_pod(&forged, now), None);
    }
    PodState::from_pod(&pod, now).unwrap()
}

/// Changes after which a pod is not a worker, although it has the labels of one.
const FORGERIES: [fn(&mut Pod); 4] = [
    |pod| pod.metadata.owner_references = None,
    |pod| owner(pod).controller = None,
    |pod| owner(pod).kind = "ReplicaSet".to_owned(),
    |pod| owner(pod).name = "copy".to_owned(),
];

fn owner(pod: &mut Pod) -> &mut OwnerReference {
    &mut pod.metadata.owner_references.as_mut().unwrap()[0]
}

#[test]
fn times_of_a_node_whose_clock_is_wrong_by_an_hour_are_limited() {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let now = time("2026-03-01T10:00:20Z");
    let times = |started: &str, finished: &str| {
        let state = pod_at(
            &format!(
                "
  phase: Failed
  conditions:
  - {{type: PodScheduled, status: 'True', lastTransitionTime: '2026-03-01T10:00:00Z'}}
  containerStatuses:
  - name: worker
    image: runner
    imageID: registry.example/runner@sha256:0f3c
    ready: false
    restartCount: 0
    state: {{terminated: {{exitCode: 1, startedAt: '{started}', finishedAt: '{finished}'}}}}"
            ),
            now,
        );
        (state.started_at.unwrap(), state.terminated.unwrap().at.unwrap())
    };
    let scheduled = time("2026-03-01T10:00:00Z");
    assert_eq!(
        times("2026-03-01T10:00:05Z", "2026-03-01T10:00:10Z"),
        (time("2026-03-01T10:00:05Z"), time("2026-03-01T10:00:10Z"))
    );
    assert_eq!(times("2026-03-01T11:00:05Z", "2026-03-01T11:00:10Z"), (now, now));
    assert_eq!(
        times("2026-03-01T09:00:05Z", "2026-03-01T09:00:10Z"),
        (scheduled, time("2026-03-01T10:00:05Z")),
        "the worker ran for 5 s"
    );
}

#[test]
fn reads_rank_node_and_image_of_a_running_pod() {
    let state = pod("
  phase: Running
  conditions:
  - {type: PodScheduled, status: 'True', lastTransitionTime: '2026-03-01T10:00:00Z'}
  containerStatuses:
  - name: worker
    image: runner
    imageID: registry.example/runner@sha256:0f3c
    ready: true
    restartCount: 0
    state: {running: {startedAt: '2026-03-01T10:00:05Z'}}");
    assert_eq!(state.attempt, AttemptId { leg: 3, attempt: 2 });
    assert_eq!(state.job_uid, "job-uid");
    assert_eq!((state.rank, state.node.as_deref()), (1, Some("ip-10-0-0-1")));
    assert_eq!(state.phase, PodPhase::Running);
    assert_eq!(state.image_digest.as_deref(), Some("sha256:0f3c"));
    assert_eq!(state.scheduled_at, Some("2026-03-01T10:00:00Z".parse().unwrap()));
    assert_eq!(state.started_at, Some("2026-03-01T10:00:05Z".parse().unwrap()));
    assert!(state.terminated.is_none() && state.waiting.is_none() && state.disruption.is_none());
}

#[test]
fn reads_reasons_and_messages_of_a_pending_pod() {
    let unschedulable = pod("
  phase: Pending
  conditions:
  - {type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/2 nodes are available.}");
    assert_eq!(
        unschedulable.unschedulable.as_deref(),
        Some("0/2 nodes are available.")
    );
    let gated = pod("
  conditions:
  - {type: PodScheduled, status: 'False', reason: SchedulingGated}");
    assert_eq!((gated.unschedulable, gated.phase), (None, PodPhase::Pending));
    let pulls = pod("
  phase: Pending
  initContainerStatuses:
  - {name: install, image: r, imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 0}}}
  containerStatuses:
  - name: worker
    image: runner
    imageID: ''
    ready: false
    restartCount: 0
    state: {waiting: {reason: ErrImagePull, message: not found}}");
    let reason = ContainerReason {
        reason: "ErrImagePull".to_owned(),
        message: "not found".to_owned(),
    };
    assert_eq!((pulls.waiting, pulls.install_failure), (Some(reason), None));
}

#[test]
fn reads_termination_and_disruption_of_a_failed_pod() {
    let lost = pod("
  phase: Failed
  reason: Evicted
  message: 'The node was low on resource: memory.'
  conditions:
  - {type: DisruptionTarget, status: 'True', reason: TerminationByKubelet, message: evicted}
  initContainerStatuses:
  - {name: install, image: r, imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 3, reason: Error}}}
  containerStatuses:
  - name: worker
    image: runner
    imageID: ''
    ready: false
    restartCount: 0
    state: {terminated: {exitCode: 137, reason: Error, message: failed, finishedAt: '2026-03-01T10:00:09Z'}}");
    let terminated = lost.terminated.unwrap();
    assert_eq!(
        (terminated.exit_code, terminated.message.as_str()),
        (137, "failed")
    );
    assert_eq!(lost.install_failure.unwrap().exit_code, 3);
    assert_eq!(lost.status_reason.unwrap().reason, "Evicted");
    assert_eq!(lost.disruption.unwrap().reason, "TerminationByKubelet");
}

#[test]
fn job_belongs_to_the_run_that_controls_it() {
    let text = "
metadata:
  name: fb-ca978112ca-l3-a2
  uid: job-uid
  deletionTimestamp: '2026-03-01T10:00:00Z'
  labels: {fabricbench.dev/leg: '3', fabricbench.dev/attempt: '2'}
  ownerReferences:
  - {apiVersion: fabricbench.dev/v1alpha1, kind: BenchmarkRun, name: r, uid: a, controller: true}
spec:
  suspend: true
  template: {}
status:
  failedIndexes: '1'
  conditions:
  - {type: Suspended, status: 'True'}
  - {type: Failed, status: 'True', reason: FailedIndexes, message: Job has failed indexes}
";
    let job: Job = serde_yaml::from_str(text).unwrap();
    let state = JobState::from_job(&job, "a", Timestamp::MAX).unwrap();
    assert_eq!(state.attempt, AttemptId { leg: 3, attempt: 2 });
    assert!(state.deleting && state.suspended && state.failed_ranks.contains(&1));
    let message = "FailedIndexes: Job has failed indexes".to_owned();
    assert_eq!(state.outcome, Some(JobOutcome::Failed(message)));
    assert_eq!(JobState::from_job(&job, "another-run", Timestamp::MAX), None);
    let mut copy = job.clone();
    copy.metadata.name = Some("copy".to_owned());
    assert_eq!(JobState::from_job(&copy, "a", Timestamp::MAX), None);
}

#[test]
fn job_that_a_queue_has_just_resumed_has_not_started() {
    let mut job: Job = serde_yaml::from_str(
        "
metadata:
  name: fb-ca978112ca-l0-a1
  uid: job-uid
  creationTimestamp: '2026-03-01T10:00:00Z'
  labels: {fabricbench.dev/leg: '0', fabricbench.dev/attempt: '1'}
  ownerReferences:
  - {apiVersion: fabricbench.dev/v1alpha1, kind: BenchmarkRun, name: r, uid: a, controller: true}
spec: {suspend: false, template: {}}
status:
  conditions:
  - {type: Suspended, status: 'True'}
",
    )
    .unwrap();
    let now: Timestamp = "2026-03-01T10:00:20Z".parse().unwrap();
    let started_at = |job: &Job| JobState::from_job(job, "a", now).unwrap().started_at;
    assert_eq!(started_at(&job), None, "the time in the queue does not count");
    let status = job.status.as_mut().unwrap();
    status.conditions.as_mut().unwrap()[0].status = "False".to_owned();
    assert!(started_at(&job).is_some());
    // The clock of the Job controller is wrong by an hour.
    for (wrong, limit) in [
        ("2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z"),
        ("2026-03-01T11:00:00Z", "2026-03-01T10:00:20Z"),
    ] {
        let wrong = Time(wrong.parse().unwrap());
        job.status.as_mut().unwrap().start_time = Some(wrong);
        assert_eq!(started_at(&job), limit.parse().ok());
    }
}
