//! Test runs with two workers and one leg of two blocks, in several states.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{CaseFailure, EndRecord, FailureReason};
use crds::v1alpha1::AttemptState;
use jiff::Timestamp;

use super::super::decide;
use crate::run_controller::action::Decision;
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::execution_state::{self, ExecutionState};
use crate::run_controller::observed::{
    ContainerTermination, CreationRejected, JobState, Observed, PodPhase, PodState, Preflight, Records,
    RunPolicyView, StreamState,
};
use crate::run_controller::reservations::Reservation;

pub(super) struct Scene {
    pub now: i64,
    pub policy: RunPolicyView,
    pub deleting: bool,
    pub finalizer: bool,
    pub suspend: bool,
    pub release_pods: bool,
    pub persisted: ExecutionState,
    pub jobs: Vec<JobState>,
    pub jobs_are_live: bool,
    pub prerequisites_ready: Option<AttemptId>,
    pub pods: Vec<PodState>,
    pub stream: Option<StreamState>,
    pub last_recorded: Option<AttemptId>,
    pub done: BTreeMap<u32, BTreeSet<u32>>,
    pub records_broken: Option<String>,
    pub preflight: Preflight,
    pub reservation: Reservation,
    pub live_pods: Option<Vec<PodState>>,
    pub creation_rejected: Option<CreationRejected>,
}

pub(super) fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn attempt(leg: u32, attempt: u32) -> AttemptId {
    AttemptId { leg, attempt }
}

pub(super) fn complete_end_record() -> EndRecord {
    EndRecord {
        blocks: 2,
        complete: true,
        failure: None,
    }
}

pub(super) fn failure_end_record(reason: FailureReason) -> EndRecord {
    EndRecord {
        blocks: 0,
        complete: false,
        failure: Some(CaseFailure {
            reason,
            message: "rank 0 to rank 1, rail 2".to_owned(),
        }),
    }
}

fn pod(rank: u32) -> PodState {
    PodState::new(
        attempt(0, 1),
        "job",
        rank,
        &format!("p-{rank}"),
        &format!("pod-{rank}"),
    )
}

impl Scene {
    /// A new run, at second 1000.
    pub(super) fn new() -> Self {
        Self {
            now: 1000,
            policy: RunPolicyView {
                plan_changed: false,
                legs: Ok(vec![2]),
                workers: 2,
                active_deadline_seconds: 1000,
                pending_deadline_seconds: 600,
                ttl_seconds_after_finished: None,
                backoff_limit: 2,
                queue: None,
                priority_class: None,
            },
            deleting: false,
            finalizer: true,
            suspend: false,
            release_pods: false,
            persisted: ExecutionState::default(),
            jobs: Vec::new(),
            jobs_are_live: false,
            prerequisites_ready: Some(attempt(0, 1)),
            pods: Vec::new(),
            stream: None,
            last_recorded: None,
            done: BTreeMap::new(),
            records_broken: None,
            preflight: Preflight::Passed {
                nodes: BTreeSet::new(),
            },
            reservation: Reservation::default(),
            live_pods: None,
            creation_rejected: None,
        }
    }

    /// A run whose first attempt has been recorded, but whose workers have not started.
    pub(super) fn starting() -> Self {
        let mut scene = Self::new();
        scene.persisted.pending_since = Some(second(1000));
        scene
            .persisted
            .start(execution_state::new_attempt(attempt(0, 1), "job"));
        scene.jobs.push(JobState {
            attempt: attempt(0, 1),
            uid: "job".to_owned(),
            deleting: false,
            suspended: false,
            failed_ranks: BTreeSet::new(),
            outcome: None,
            started_at: Some(second(1000)),
        });
        scene.pods = vec![pod(0), pod(1)];
        scene
    }

    /// A run at second 1060. All its workers have been running since second 1020, and its log is being followed.
    pub(super) fn running() -> Self {
        let mut scene = Self::starting();
        scene.start(0, 1010);
        scene.start(1, 1020);
        scene.follow();
        scene.persisted.pending_since = None;
        scene.persisted.active_since = Some(second(1020));
        scene.persisted.nodes = vec!["node-0".to_owned(), "node-1".to_owned()];
        let current = scene.persisted.attempts.last_mut().unwrap();
        current.state = AttemptState::Running;
        current.coordinator_pod_uid = Some("pod-0".to_owned());
        scene.now = 1060;
        scene
    }

    pub(super) fn start(&mut self, rank: usize, at: i64) {
        let pod = &mut self.pods[rank];
        pod.phase = PodPhase::Running;
        pod.started_at = Some(second(at));
        pod.node = Some(format!("node-{rank}"));
    }

    /// Terminates a worker at second 1050.
    pub(super) fn exit(&mut self, rank: usize, exit_code: i32, message: &str) {
        self.pods[rank].terminated = Some(ContainerTermination {
            exit_code,
            reason: "Error".to_owned(),
            message: message.to_owned(),
            at: Some(second(1050)),
        });
    }

    pub(super) fn follow(&mut self) {
        self.stream = Some(StreamState {
            attempt: attempt(0, 1),
            pod_uid: "pod-0".to_owned(),
            closed: false,
            end: None,
            fault: None,
        });
    }

    pub(super) fn close(&mut self, end: Option<EndRecord>, fault: Option<&str>) {
        self.stream = Some(StreamState {
            attempt: attempt(0, 1),
            pod_uid: "pod-0".to_owned(),
            closed: true,
            end,
            fault: fault.map(str::to_owned),
        });
    }

    /// Removes the Job, its pods and its log.
    pub(super) fn remove_attempt(&mut self) {
        self.jobs.clear();
        self.pods.clear();
        self.stream = None;
    }

    pub(super) fn decide(&self) -> Decision {
        let records = match &self.records_broken {
            Some(message) => Records::Broken(message.clone()),
            None => Records::Read(&self.done),
        };
        let observed = Observed {
            deleting: self.deleting,
            finalizer: self.finalizer,
            suspend: self.suspend,
            release_pods: self.release_pods,
            persisted: self.persisted.clone(),
            jobs: self.jobs.clone(),
            jobs_are_live: self.jobs_are_live,
            prerequisites_ready: self.prerequisites_ready,
            pods: self.pods.clone(),
            stream: self.stream.clone(),
            last_recorded: self.last_recorded,
            records,
            preflight: self.preflight.clone(),
            live_pods: self.live_pods.clone(),
            creation_rejected: self.creation_rejected.clone(),
        };
        decide(&self.policy, &observed, &self.reservation, second(self.now))
    }
}
