//! Registers a run's placement request, and enqueues the runs that may proceed as a result. Performs no I/O.

use jiff::Timestamp;

use super::admission::{PlacementRequest, PlacementStage, Reservation};
use super::context::Context;
use super::execution_state::ExecutionState;
use super::observe;
use super::observed::{JobState, Observed, PodState, Preflight};
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
    let stage = placement_stage(
        snapshot.object.spec.placement.worker_count(),
        &observed.jobs,
        &observed.pods,
        observed.needs_next_attempt() && can_create,
        now,
    );
    let mut request = placement_request(snapshot, &observed.persisted, &observed.pods, stage);
    if let Preflight::Passed { nodes } = &observed.preflight {
        request.candidate_nodes = Some(nodes.clone());
    }
    register(context, snapshot.key, request)
}

/// Registers only the run's existing gang. Used after a restart and after a failed reconciliation, so that other runs
/// do not wait for a gang that this run has failed to create.
pub(super) fn register_existing_gang(context: &Context, cached: &CachedRun, now: Timestamp) {
    let CachedRun::Run(run, _) = cached else { return };
    let Ok(run) = &run.unpack() else { return };
    let (Some(key), Some(uid)) = (RunKey::from_metadata(&run.metadata), run.metadata.uid.as_deref()) else {
        return;
    };
    let jobs = observe::jobs(context, &key, uid);
    let pods = observe::pods(context, &key, uid);
    let stage = placement_stage(run.spec.placement.worker_count(), &jobs, &pods, false, now);
    let snapshot = RunSnapshot::latest(&key, run, uid, &mut Session::new(uid));
    let request = placement_request(&snapshot, &snapshot.persisted(), &pods, stage);
    register(context, &key, request);
}

fn register(context: &Context, key: &RunKey, request: PlacementRequest) -> Reservation {
    let (reservation, unblocked) = context.reservations.register(key, request);
    for run in unblocked {
        context.queue.add(run);
    }
    reservation
}

fn placement_request(
    snapshot: &RunSnapshot<'_>,
    persisted: &ExecutionState,
    pods: &[PodState],
    stage: PlacementStage,
) -> PlacementRequest {
    let placement = &snapshot.object.spec.placement;
    let created = snapshot.object.metadata.creation_timestamp.as_ref();
    PlacementRequest {
        name: snapshot.key.to_string(),
        uid: snapshot.uid.to_owned(),
        created: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        workers: placement.worker_count(),
        exclusive: placement.exclusive,
        candidate_nodes: None,
        // The status contains a gang's nodes only after all its workers have started.
        nodes: persisted
            .nodes
            .iter()
            .chain(pods.iter().filter_map(|pod| pod.node.as_ref()))
            .cloned()
            .collect(),
        // A run that uses a queue needs no reservation: the queue admits whole gangs in order.
        stage: match placement.queue_name {
            Some(_) => PlacementStage::Idle,
            None => stage,
        },
    }
}

/// Returns the placement stage of a run with `workers` workers.
fn placement_stage(
    workers: u32,
    jobs: &[JobState],
    pods: &[PodState],
    needs_gang: bool,
    now: Timestamp,
) -> PlacementStage {
    let mut active = jobs
        .iter()
        .filter(|job| !job.deleting && job.outcome.is_none())
        .peekable();
    if active.peek().is_none() {
        return match needs_gang {
            true => PlacementStage::Requesting,
            false => PlacementStage::Idle,
        };
    }
    let mut stage = PlacementStage::Idle;
    for job in active.filter(|job| !job.suspended) {
        let of_job = || pods.iter().filter(|pod| pod.attempt == job.attempt);
        // Pods that the cluster fails to create need no nodes, and may be missing indefinitely.
        let overdue_at = job.missing_pods_overdue_at(of_job().count(), workers);
        if overdue_at.is_some_and(|overdue_at| overdue_at <= now) {
            continue;
        }
        stage = PlacementStage::Placed;
        if of_job().filter(|pod| pod.node.is_some()).count() < workers as usize {
            return PlacementStage::Placing;
        }
    }
    stage
}
