//! Registers a run's placement request, and enqueues the runs that may proceed as a result. Performs no I/O.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::admission::{PlacementRequest, PlacementStage};
use super::context::Context;
use super::decide::is_overdue;
use super::execution_state::ExecutionState;
use super::observe;
use super::observed::{JobState, Observed, PodState, Preflight};
use super::reservations::Reservation;
use super::session::Session;
use super::snapshot::RunSnapshot;
use super::store::{CachedRun, RunKey};

/// Registers the run's placement request, and reserves nodes for its next gang if the run needs a gang and nothing else
/// prevents its creation.
pub(super) fn reserve(
    context: &Context,
    snapshot: &RunSnapshot<'_>,
    observed: &Observed<'_>,
    now: Timestamp,
) -> Reservation {
    let can_create =
        !matches!(observed.preflight, Preflight::Rejected(_)) && observed.creation_rejected.is_none();
    let persisted = &observed.persisted;
    let is_delayed = persisted.delayed_until(now).is_some();
    // No attempt starts before the pods of the previous one are gone or abandoned.
    let is_stuck = !observed.release_pods && observed.pods.iter().any(|pod| is_overdue(pod, now));
    let needs_gang = observed.needs_next_attempt() && can_create && !is_delayed && !is_stuck;
    let candidates = match &observed.preflight {
        Preflight::Passed { nodes } => Some(Some(nodes.clone())),
        Preflight::Skipped | Preflight::Warned(_) | Preflight::Rejected(_) => None,
    };
    let gang = Gang {
        jobs: &observed.jobs,
        pods: &observed.pods,
        needs_gang,
    };
    register(context, snapshot, persisted, &gang, candidates, now)
}

/// Registers only the run's existing gang. Used after a restart and after a failed reconciliation, so that other runs
/// do not wait for a gang that this run has failed to create.
pub(super) fn register_existing_gang(context: &Context, cached: &CachedRun, now: Timestamp) {
    let CachedRun::Run(run, _) = cached else { return };
    let Ok(run) = &run.unpack() else { return };
    let (Some(key), Some(uid)) = (RunKey::from_metadata(&run.metadata), run.metadata.uid.as_deref()) else {
        return;
    };
    let snapshot = RunSnapshot::latest(&key, run, uid, &mut Session::new(uid));
    let gang = Gang {
        jobs: &observe::jobs(context, &key, uid),
        pods: &observe::pods(context, &key, uid),
        needs_gang: false,
    };
    register(context, &snapshot, &snapshot.persisted(), &gang, None, now);
}

/// The gang of a run.
struct Gang<'a> {
    jobs: &'a [JobState],
    pods: &'a [PodState],
    /// Whether the next action is to create a gang.
    needs_gang: bool,
}

impl Gang<'_> {
    /// Returns the pods that occupy their nodes. A pod that is stuck terminating does not: its node is lost.
    fn holding<'s>(
        &'s self,
        persisted: &'s ExecutionState,
        now: Timestamp,
    ) -> impl Iterator<Item = &'s PodState> {
        self.pods.iter().filter(move |pod| {
            let is_of_run = pod.is_of_run(self.jobs, &persisted.attempts);
            is_of_run && !pod.phase.is_finished() && !is_overdue(pod, now)
        })
    }
}

/// Registers the request of a run. `candidates` are its candidate nodes, if they have been determined.
fn register(
    context: &Context,
    snapshot: &RunSnapshot<'_>,
    persisted: &ExecutionState,
    gang: &Gang<'_>,
    candidates: Option<Option<BTreeSet<String>>>,
    now: Timestamp,
) -> Reservation {
    let mut request = request(snapshot, persisted, gang, now);
    // The candidates of a run that is not waiting for nodes do not matter.
    if matches!(
        request.stage,
        PlacementStage::Requesting | PlacementStage::Placing
    ) {
        let determine = || context.eligible_nodes(snapshot.object, &persisted.nodes);
        request.candidate_nodes = candidates.unwrap_or_else(determine);
    }
    let (reservation, affected) = context.reservations.register(request, now);
    for run in affected {
        context.queue.add(run);
    }
    reservation
}

fn request(
    snapshot: &RunSnapshot<'_>,
    persisted: &ExecutionState,
    gang: &Gang<'_>,
    now: Timestamp,
) -> PlacementRequest {
    let object = snapshot.object;
    let placement = &object.spec.placement;
    let workers = placement.worker_count() as usize;
    let created = object.metadata.creation_timestamp.as_ref();
    let created = created.map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    let started = persisted
        .attempts
        .iter()
        .filter_map(|attempt| attempt.started_at.as_ref());
    let started = started.filter_map(|text| text.parse().ok());
    let keeps_nodes = persisted.lost_places == 0
        && persisted.finished_at.is_none()
        && !object.spec.suspend
        && object.metadata.deletion_timestamp.is_none();
    let progress = placement_progress(gang, persisted, workers, now);
    PlacementRequest {
        run: snapshot.key.clone(),
        uid: snapshot.uid.to_owned(),
        waiting_since: persisted
            .retry_at
            .map_or(created, |retry_at| retry_at.max(created)),
        workers,
        exclusive: placement.exclusive,
        candidate_nodes: None,
        kept_nodes: match keeps_nodes {
            true => persisted.nodes.iter().cloned().collect(),
            false => BTreeSet::new(),
        },
        pod_nodes: gang
            .holding(persisted, now)
            .filter_map(|pod| pod.node.clone())
            .collect(),
        stage: match progress.stage {
            // A queue determines when its runs create their gangs.
            PlacementStage::Requesting if placement.queue_name.is_some() => PlacementStage::Idle,
            stage => stage,
        },
        lacks_pods: progress.lacks_pods,
        progress_at: progress.at.unwrap_or(now),
        last_turn: started.chain(persisted.retry_at).max(),
    }
}

/// How far the placement of a gang has come.
struct PlacementProgress {
    stage: PlacementStage,
    /// Whether some pods were not created in time.
    lacks_pods: bool,
    /// Time of the last progress, if it is known.
    at: Option<Timestamp>,
}

/// Returns how far the placement of `gang`, which needs `workers` pods, has come at `now`.
fn placement_progress(
    gang: &Gang<'_>,
    persisted: &ExecutionState,
    workers: usize,
    now: Timestamp,
) -> PlacementProgress {
    let without_gang = |stage| PlacementProgress {
        stage,
        lacks_pods: false,
        at: None,
    };
    let idle = match gang.holding(persisted, now).any(|pod| pod.node.is_some()) {
        true => PlacementStage::Releasing,
        false => PlacementStage::Idle,
    };
    let mut jobs = gang
        .jobs
        .iter()
        .filter(|job| !job.deleting && job.outcome.is_none());
    // There is only one attempt at a time.
    let job = match jobs.next_back() {
        Some(job) if job.suspended => return without_gang(idle),
        Some(job) => job,
        None if gang.needs_gang && idle == PlacementStage::Idle => {
            return without_gang(PlacementStage::Requesting);
        }
        None => return without_gang(idle),
    };
    let pods = || gang.pods.iter().filter(|pod| pod.job_uid == job.uid);
    let overdue_at = job.missing_pods_overdue_at(pods().count(), u32::try_from(workers).unwrap_or(u32::MAX));
    let stage = match () {
        () if pods().filter(|pod| pod.node.is_some()).count() < workers => PlacementStage::Placing,
        () if pods().filter(|pod| pod.started_at.is_some()).count() < workers => PlacementStage::Starting,
        () => PlacementStage::Running,
    };
    let times = pods().flat_map(|pod| [pod.scheduled_at, pod.started_at]);
    PlacementProgress {
        stage,
        lacks_pods: overdue_at.is_some_and(|overdue_at| overdue_at <= now),
        at: times.chain([job.started_at]).flatten().max(),
    }
}
