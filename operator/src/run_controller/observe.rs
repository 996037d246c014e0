//! Collects what the caches and the in-memory session contain about one run. [`list_pods`] and [`list_jobs`] are the only
//! functions that send requests.

use std::collections::{BTreeMap, BTreeSet};

use campaign::collect::Reports;
use crds::names;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use snafu::{ResultExt, Snafu};

use super::attempt_id::AttemptId;
use super::build::labels;
use super::context::Context;
use super::observed::{JobState, Observed, PodState, Preflight, Records, RunPolicyView, needs_next_attempt};
use super::session::{Session, SessionRecords};
use super::snapshot::RunSnapshot;
use super::store::{ChildKey, RunKey};

/// Measured blocks of a run without records.
static NO_BLOCKS: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();

/// Error listing the pods or Jobs of a run.
#[derive(Debug, Snafu)]
#[snafu(display("cannot list the {kind} of the run: {source}"))]
pub(super) struct ListError {
    kind: &'static str,
    source: kube::Error,
}

/// Returns the part of the spec and the plan that decisions depend on. A finished run needs no plan.
pub(super) fn run_policy(snapshot: &RunSnapshot<'_>, session: &Session) -> RunPolicyView {
    let run = snapshot.object;
    let policy = &run.spec.run_policy;
    let persisted = snapshot.persisted();
    let legs = session.legs.as_ref().filter(|_| persisted.finished_at.is_none());
    let planned = match legs {
        Some(Ok(legs)) => Ok((legs.blocks.clone(), Some(&legs.plan_hash))),
        Some(Err(message)) => Err(message.clone()),
        None => Ok((Vec::new(), None)),
    };
    let status = snapshot.status.as_ref();
    let started_with = status.and_then(|status| status.plan_hash.as_ref());
    let started_with = started_with.filter(|_| !persisted.attempts.is_empty());
    let current = planned.as_ref().ok().and_then(|(_, hash)| *hash);
    RunPolicyView {
        plan_changed: started_with
            .zip(current)
            .is_some_and(|(started_with, current)| started_with != current),
        legs: planned.map(|(legs, _)| legs),
        workers: run.spec.placement.worker_count(),
        active_deadline_seconds: policy.active_deadline_seconds,
        pending_deadline_seconds: policy.pending_deadline_seconds,
        ttl_seconds_after_finished: policy.ttl_seconds_after_finished,
        backoff_limit: policy.backoff_limit,
        queue: run.spec.placement.queue_name.clone(),
        priority_class: run.spec.placement.priority_class_name.clone(),
    }
}

/// Objects of the run from an uncached list, if the previous step requested one.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Result of [`list_pods`].
    pub(super) pods: Option<Vec<PodState>>,
    /// Result of [`list_jobs`].
    pub(super) jobs: Option<Vec<JobState>>,
}

/// Returns the observed state of the run.
pub(super) fn observe<'s>(
    context: &Context,
    snapshot: &RunSnapshot<'_>,
    session: &'s Session,
    live: Live,
) -> Observed<'s> {
    let run = snapshot.object;
    let persisted = snapshot.persisted();
    let deleting = run.metadata.deletion_timestamp.is_some();
    let annotations = run.metadata.annotations.as_ref();
    let pods = pods(context, snapshot.key, snapshot.uid);
    let needs_nodes = needs_next_attempt(&persisted, deleting, run.spec.suspend)
        || pods.iter().any(|pod| pod.unschedulable.is_some());
    Observed {
        deleting,
        finalizer: snapshot.has_finalizer,
        suspend: run.spec.suspend,
        release_pods: annotations.is_some_and(|all| all.contains_key(names::ANNOTATION_RELEASE_PODS)),
        jobs_are_live: live.jobs.is_some(),
        jobs: live
            .jobs
            .unwrap_or_else(|| jobs(context, snapshot.key, snapshot.uid)),
        prerequisites_ready: session.prerequisites_ready,
        pods,
        stream: session.follower.as_ref().map(|follower| follower.state()),
        last_recorded: session.reports().and_then(last_recorded),
        records: match &session.records {
            SessionRecords::Unread => Records::Unread,
            SessionRecords::Empty => Records::Read(&NO_BLOCKS),
            SessionRecords::Read { collector, .. } => Records::Read(&collector.reports().done),
            SessionRecords::Broken(message) => Records::Broken(message.clone()),
        },
        preflight: match needs_nodes {
            true => context.preflight(run, &persisted.nodes),
            false => Preflight::Skipped,
        },
        live_pods: live.pods,
        creation_rejected: session
            .creation_rejected
            .as_ref()
            .map(|(rejected, _)| rejected.clone()),
        persisted,
    }
}

/// Returns the attempt that wrote the newest stream in `reports`.
fn last_recorded(reports: &Reports) -> Option<AttemptId> {
    let stream = reports.streams.last()?;
    Some(AttemptId {
        leg: stream.leg,
        attempt: stream.attempt,
    })
}

/// Returns the run's cached Jobs.
pub(super) fn jobs(context: &Context, key: &RunKey, uid: &str) -> Vec<JobState> {
    let first = ChildKey::first(&key.namespace, uid);
    let children = context
        .jobs
        .range_from(&first, |child| child.belongs_to(&key.namespace, uid));
    children.into_iter().map(|child| child.state).collect()
}

/// Returns the run's cached pods.
pub(super) fn pods(context: &Context, key: &RunKey, uid: &str) -> Vec<PodState> {
    let first = ChildKey::first(&key.namespace, uid);
    let children = context
        .pods
        .range_from(&first, |child| child.belongs_to(&key.namespace, uid));
    children.into_iter().map(|child| child.state).collect()
}

/// Returns the run's pods from an uncached list request.
pub(super) async fn list_pods(
    context: &Context,
    key: &RunKey,
    uid: &str,
) -> Result<Vec<PodState>, ListError> {
    let api: Api<Pod> = Api::namespaced(context.writer.client.clone(), &key.namespace);
    let params = ListParams::default().labels(&labels::selector(uid));
    let pods = api.list(&params).await.context(ListSnafu { kind: "pods" })?;
    let now = context.now();
    let states = pods.items.iter().filter_map(|pod| PodState::from_pod(pod, now));
    Ok(states.collect())
}

/// Returns the run's Jobs from an uncached list request.
pub(super) async fn list_jobs(
    context: &Context,
    key: &RunKey,
    uid: &str,
) -> Result<Vec<JobState>, ListError> {
    let api: Api<Job> = Api::namespaced(context.writer.client.clone(), &key.namespace);
    let params = ListParams::default().labels(&labels::selector(uid));
    let jobs = api.list(&params).await.context(ListSnafu { kind: "Jobs" })?;
    let now = context.now();
    let states = jobs
        .items
        .iter()
        .filter_map(|job| JobState::from_job(job, uid, now));
    Ok(states.collect())
}
