//! Puts together what is true of one run now. Reads caches; one read past them only where a decision asks for it.

use std::collections::{BTreeMap, BTreeSet};

use crds::names;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use snafu::{ResultExt, Snafu};

use super::build::labels;
use super::context::Context;
use super::gate::{Contender, Stage};
use super::kept::Kept;
use super::observed::{Facts, JobState, Observed, PodState, Preflight, Records};
use super::session::{Session, SessionRecords};
use super::store::{ChildKey, RunKey, StoredRun};
use super::turns::Noted;

/// What is measured of a run without records.
static NO_BLOCKS: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();

/// The pods of a run could not be listed.
#[derive(Debug, Snafu)]
#[snafu(display("listing the pods of the run: {source}"))]
pub struct ListError {
    source: kube::Error,
}

/// A run as it is now: as the cache shows it, or as this process left it since.
pub(super) struct Current<'a> {
    pub(super) key: &'a RunKey,
    pub(super) run: &'a BenchmarkRun,
    pub(super) uid: &'a str,
    /// Its version.
    pub(super) version: String,
    pub(super) status: Option<BenchmarkRunStatus>,
    pub(super) finalizer: bool,
}

impl<'a> Current<'a> {
    /// The newer of what the cache shows and what this process wrote.
    pub(super) fn of(key: &'a RunKey, run: &'a BenchmarkRun, uid: &'a str, session: &mut Session) -> Self {
        let version = run.metadata.resource_version.clone().unwrap_or_default();
        // Versions of one resource are numbers that grow; one that is none counts as new.
        let number = |version: &str| version.parse::<u64>().unwrap_or(u64::MAX);
        session
            .written
            .take_if(|written| number(&version) >= number(&written.version));
        let finalizers = run.metadata.finalizers.iter().flatten();
        let cached = || finalizers.clone().any(|name| name == names::FINALIZER);
        match &session.written {
            Some(written) => Self {
                key,
                run,
                uid,
                version: written.version.clone(),
                status: written.status.clone(),
                finalizer: written.finalizer,
            },
            None => Self {
                key,
                run,
                uid,
                version,
                status: run.status.clone(),
                finalizer: cached(),
            },
        }
    }

    /// What the status remembers.
    pub(super) fn kept(&self) -> Kept {
        self.status.as_ref().map(Kept::of).unwrap_or_default()
    }
}

/// What the run asks for, as far as its life depends on it.
pub(super) fn facts(context: &Context, current: &Current<'_>, session: &mut Session) -> Facts {
    let run = current.run;
    let policy = &run.spec.run_policy;
    let kept = current.kept();
    let planned = match kept.finished_at {
        Some(_) => Ok((Vec::new(), None)),
        None => {
            let legs = session.legs(run, &context.installation);
            legs.map(|(legs, hash)| (legs, Some(hash)))
        }
    };
    let begun = current
        .status
        .as_ref()
        .and_then(|status| status.plan_hash.as_ref());
    let begun = begun.filter(|_| !kept.attempts.is_empty());
    let hash = planned.as_ref().ok().and_then(|(_, hash)| hash.as_ref());
    Facts {
        plan_changed: begun.zip(hash).is_some_and(|(begun, now)| begun != now),
        legs: planned.map(|(legs, _)| legs),
        workers: run.spec.placement.workers,
        active_deadline_seconds: policy.active_deadline_seconds,
        pending_deadline_seconds: policy.pending_deadline_seconds,
        ttl_seconds_after_finished: policy.ttl_seconds_after_finished,
        backoff_limit: policy.backoff_limit,
    }
}

/// Everything that a decision may look at.
pub(super) fn observe<'s>(
    context: &Context,
    current: &Current<'_>,
    session: &'s mut Session,
    listed: Option<Vec<PodState>>,
) -> Observed<'s> {
    let run = current.run;
    let jobs = jobs(context, current.key, current.uid);
    let pods = pods(context, current.key, current.uid);
    let kept = current.kept();
    if let Some(follower) = &session.follower {
        let pod = pods.iter().find(|pod| pod.uid == follower.log.pod_uid);
        // The log of a pod that the cache does not show is read to its end, too: the API server says whether it is there.
        follower.container_ended(pod.is_none_or(|pod| pod.ended.is_some() || pod.phase.is_over()));
    }
    let to_be_created = kept.finished_at.is_none()
        && kept.current().is_none()
        && run.metadata.deletion_timestamp.is_none()
        && !run.spec.suspend;
    let (preflight, candidates) = match to_be_created {
        true => context.preflight(run, &kept.nodes),
        false => (Preflight::Skipped, None),
    };
    let refused = session.refusal();
    let fit = !matches!(preflight, Preflight::Refused(_)) && refused.is_none();
    let stage = stage(run, &jobs, &pods, to_be_created && fit);
    let noted = turn(context, current, (&kept, &pods), stage, candidates);
    Observed {
        deleting: run.metadata.deletion_timestamp.is_some(),
        finalizer: current.finalizer,
        suspend: run.spec.suspend,
        release_pods: annotations(run).contains_key(names::ANNOTATION_RELEASE_PODS),
        kept,
        jobs,
        prepared: session.prepared,
        pods,
        stream: session.follower.as_ref().map(|follower| follower.state()),
        records: match &session.records {
            SessionRecords::Unread => Records::Unread,
            SessionRecords::Empty => Records::Read(&NO_BLOCKS),
            SessionRecords::Read { collector, .. } => Records::Read(&collector.reports().done),
            SessionRecords::Broken(message) => Records::Broken(message.clone()),
        },
        preflight,
        ahead: noted.ahead,
        beside: noted.beside,
        listed,
        refused,
    }
}

fn annotations(run: &BenchmarkRun) -> BTreeMap<String, String> {
    run.metadata.annotations.clone().unwrap_or_default()
}

/// The Jobs of the run, as the cache shows them.
pub(super) fn jobs(context: &Context, key: &RunKey, uid: &str) -> Vec<JobState> {
    let first = ChildKey::first(&key.namespace, uid);
    let children = context
        .jobs
        .from(&first, |child| child.is_of(&key.namespace, uid));
    children.into_iter().map(|child| child.state).collect()
}

fn pods(context: &Context, key: &RunKey, uid: &str) -> Vec<PodState> {
    let first = ChildKey::first(&key.namespace, uid);
    let children = context
        .pods
        .from(&first, |child| child.is_of(&key.namespace, uid));
    children.into_iter().map(|child| child.state).collect()
}

/// Notes the gang that is there, and no more: as after a restart, or where the run could not be carried on and others must
/// not wait for what it meant to do.
pub(super) fn note_gang(context: &Context, stored: &StoredRun) {
    let StoredRun::Run(run, _) = stored else { return };
    let Ok(run) = &run.unpack() else { return };
    let (Some(key), Some(uid)) = (RunKey::of(&run.metadata), run.metadata.uid.as_deref()) else {
        return;
    };
    let pods = pods(context, &key, uid);
    let stage = stage(run, &jobs(context, &key, uid), &pods, false);
    let current = Current::of(&key, run, uid, &mut Session::new(uid));
    turn(context, &current, (&current.kept(), &pods), stage, None);
}

/// Notes what the run does, and asks for its turn where it would create a gang.
fn turn(
    context: &Context,
    current: &Current<'_>,
    (kept, pods): (&Kept, &[PodState]),
    stage: Stage,
    candidates: Option<BTreeSet<String>>,
) -> Noted {
    let run = current.run;
    let placement = &run.spec.placement;
    let created = run.metadata.creation_timestamp.as_ref();
    let contender = Contender {
        name: current.key.to_string(),
        uid: current.uid.to_owned(),
        created: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        workers: placement.workers,
        exclusive: placement.exclusive,
        may_use: candidates,
        // The status names the nodes of a gang only once it runs.
        nodes: kept
            .nodes
            .iter()
            .chain(pods.iter().filter_map(|pod| pod.node.as_ref()))
            .cloned()
            .collect(),
        // A queue admits gangs as a whole, and orders them.
        stage: if placement.queue_name.is_some() {
            Stage::Idle
        } else {
            stage
        },
    };
    let mut noted = context.turns.note(current.key, contender);
    for next in noted.wake.drain(..) {
        context.queue.add(next);
    }
    noted
}

/// What the run does, as far as others have to wait for it.
fn stage(run: &BenchmarkRun, jobs: &[JobState], pods: &[PodState], to_be_created: bool) -> Stage {
    let mut going_on = jobs
        .iter()
        .filter(|job| !job.deleting && job.end.is_none())
        .peekable();
    if going_on.peek().is_none() {
        return if to_be_created { Stage::Next } else { Stage::Idle };
    }
    let workers = run.spec.placement.workers;
    let now = Timestamp::now();
    let mut held_back = true;
    for job in going_on.filter(|job| !job.suspended) {
        let of_job = || pods.iter().filter(|pod| pod.attempt == job.attempt);
        // What is not made wants no node, and nobody knows for how long.
        let unmade = job.unmade_from(of_job().count(), workers);
        if unmade.is_some_and(|from| from <= now) {
            continue;
        }
        held_back = false;
        if of_job().filter(|pod| pod.node.is_some()).count() < workers as usize {
            return Stage::Placing;
        }
    }
    if held_back { Stage::Idle } else { Stage::Placed }
}

/// The pods of the run by a read past every cache.
pub(super) async fn list_pods(client: &Client, key: &RunKey, uid: &str) -> Result<Vec<PodState>, ListError> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &key.namespace);
    let params = ListParams::default().labels(&labels::selector(uid));
    let pods = api.list(&params).await.context(ListSnafu)?;
    Ok(pods.items.iter().filter_map(PodState::of).collect())
}
