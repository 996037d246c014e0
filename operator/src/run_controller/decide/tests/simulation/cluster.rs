//! The simulated cluster: the state of the API server, and all changes to it except those made by the controller.

use std::collections::{BTreeMap, BTreeSet};

use campaign::status::Phase;
use crds::record::{CaseFailure, EndRecord, FailureReason};
use jiff::Timestamp;

use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::execution_state::ExecutionState;
use crate::run_controller::observed::{
    ContainerReason, ContainerTermination, JobOutcome, JobState, PodPhase, PodState, RunPolicyView,
};

pub(super) const WORKERS: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    Evicted,
    Killed,
    OutOfMemory,
    Deleted,
    /// The pod is being deleted, and is stuck terminating.
    NodeLost,
}

/// The log of worker 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// Blocks in the assignment of the attempt.
    pub assigned: Vec<u32>,
    pub blocks: Vec<u32>,
    pub end: Option<EndRecord>,
    pub truncated: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub now: i64,
    pub policy: RunPolicyView,
    pub suspend: bool,
    pub deleting: bool,
    pub finalizer: bool,
    pub run_gone: bool,
    pub blocked: bool,
    /// Whether a quota prevents the creation of prerequisites.
    pub quota_full: bool,
    pub persisted: ExecutionState,
    pub phase: Option<Phase>,
    pub jobs: Vec<JobState>,
    /// Attempts whose ConfigMap and Service exist.
    pub prerequisites: BTreeSet<AttemptId>,
    pub pods: Vec<PodState>,
    /// Logs by pod UID.
    pub logs: BTreeMap<String, Log>,
    /// Persisted blocks, by leg.
    pub chain: BTreeMap<u32, BTreeSet<u32>>,
    /// The attempt whose records were persisted last.
    pub last_recorded: Option<AttemptId>,
    /// Attempt and UID of every Job that has ever been created.
    pub created: Vec<(AttemptId, String)>,
}

impl Cluster {
    pub(super) fn new() -> Self {
        Self {
            now: 1_000_000,
            policy: RunPolicyView {
                plan_changed: false,
                legs: Ok(vec![2, 1, 2]),
                workers: WORKERS,
                active_deadline_seconds: 100_000,
                pending_deadline_seconds: 100_000,
                ttl_seconds_after_finished: None,
                backoff_limit: 2,
                queue: None,
                priority_class: None,
            },
            suspend: false,
            deleting: false,
            finalizer: false,
            run_gone: false,
            blocked: false,
            quota_full: false,
            persisted: ExecutionState::default(),
            phase: None,
            jobs: Vec::new(),
            prerequisites: BTreeSet::new(),
            pods: Vec::new(),
            logs: BTreeMap::new(),
            chain: BTreeMap::new(),
            last_recorded: None,
            created: Vec::new(),
        }
    }

    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_second(self.now).unwrap()
    }

    /// Blocks of `leg` that are not persisted. Block numbers start at `100 * leg`.
    pub(super) fn missing(&self, leg: u32) -> Vec<u32> {
        let blocks = self.policy.legs.as_ref().unwrap()[leg as usize];
        let done = self.chain.get(&leg).cloned().unwrap_or_default();
        let all = (0..blocks).map(|block| leg * 100 + block);
        all.filter(|block| !done.contains(block)).collect()
    }

    pub(super) fn create_job(&mut self, attempt: AttemptId) {
        if self.jobs.iter().any(|job| job.attempt == attempt) {
            return;
        }
        let uid = format!("job-{}", self.created.len());
        self.created.push((attempt, uid.clone()));
        self.jobs.push(JobState {
            attempt,
            uid: uid.clone(),
            deleting: false,
            suspended: self.policy.queue.is_some(),
            failed_ranks: BTreeSet::new(),
            outcome: None,
            started_at: None,
        });
        if self.policy.queue.is_none() {
            self.create_pods(attempt, &uid, &uid);
        }
    }

    fn create_pods(&mut self, attempt: AttemptId, job_uid: &str, prefix: &str) {
        for rank in 0..WORKERS {
            let pod_uid = format!("{prefix}-{rank}");
            if rank == 0 {
                let log = Log {
                    assigned: self.missing(attempt.leg),
                    ..Log::default()
                };
                self.logs.insert(pod_uid.clone(), log);
            }
            self.pods
                .push(PodState::new(attempt, job_uid, rank, &pod_uid, &pod_uid));
        }
    }

    /// Suspends the Job, which removes its pods, or admits it, which creates new ones.
    pub(super) fn set_admitted(&mut self, admitted: bool) {
        let Some(job) = self.jobs.first_mut().filter(|job| job.outcome.is_none()) else {
            return;
        };
        if job.suspended != admitted {
            return;
        }
        job.suspended = !admitted;
        let (attempt, uid) = (job.attempt, job.uid.clone());
        let prefix = format!("{uid}-{}", self.now);
        self.pods.retain(|pod| pod.attempt != attempt);
        if admitted {
            self.now += 1;
            self.create_pods(attempt, &uid, &prefix);
        }
    }

    /// Schedules and starts one pending pod.
    pub(super) fn start_pod(&mut self) {
        let now = self.time();
        let pending = |pod: &&mut PodState| {
            let can_start = pod.phase == PodPhase::Pending && pod.deletion_deadline.is_none();
            can_start && self.prerequisites.contains(&pod.attempt)
        };
        if let Some(pod) = self.pods.iter_mut().find(pending) {
            pod.node = Some(format!("node-{}", pod.rank));
            pod.scheduled_at = Some(now);
            pod.started_at = Some(now);
            pod.phase = PodPhase::Running;
        }
    }

    fn running_pod(&self, rank: u32) -> Option<usize> {
        let runs =
            |pod: &PodState| pod.rank == rank && pod.phase == PodPhase::Running && pod.terminated.is_none();
        let has_job = |pod: &PodState| self.jobs.iter().any(|job| job.attempt == pod.attempt);
        self.pods.iter().position(|pod| runs(pod) && has_job(pod))
    }

    /// Lets worker 0 measure its next block, or terminate after the last one.
    pub(super) fn measure(&mut self) {
        let (Some(coordinator), Some(_)) = (self.running_pod(0), self.running_pod(1)) else {
            return;
        };
        let uid = self.pods[coordinator].uid.clone();
        let log = self.logs.get_mut(&uid).unwrap();
        if let Some(block) = log.assigned.get(log.blocks.len()) {
            log.blocks.push(*block);
            return;
        }
        log.end = Some(EndRecord {
            blocks: log.blocks.len() as u32,
            complete: true,
            failure: None,
        });
        let attempt = self.pods[coordinator].attempt;
        for pod in self.pods.iter_mut().filter(|pod| pod.attempt == attempt) {
            pod.phase = PodPhase::Succeeded;
        }
        self.exit(coordinator, 0, "Completed");
        let job = self.jobs.iter_mut().find(|job| job.attempt == attempt);
        job.unwrap().outcome = Some(JobOutcome::Complete);
    }

    fn exit(&mut self, pod: usize, exit_code: i32, reason: &str) {
        let now = self.time();
        let pod = &mut self.pods[pod];
        pod.terminated = Some(ContainerTermination {
            exit_code,
            reason: reason.to_owned(),
            message: String::new(),
            at: Some(now),
        });
        pod.phase = match exit_code {
            0 => PodPhase::Succeeded,
            _ => PodPhase::Failed,
        };
    }

    fn end_with_failure(&mut self, reason: FailureReason) {
        let Some(coordinator) = self.running_pod(0) else {
            return;
        };
        let log = self.logs.get_mut(&self.pods[coordinator].uid).unwrap();
        log.end = Some(EndRecord {
            blocks: log.blocks.len() as u32,
            complete: false,
            failure: Some(CaseFailure {
                reason,
                message: "simulated".to_owned(),
            }),
        });
        self.exit(coordinator, 3, "Error");
    }

    pub(super) fn fail_measurement(&mut self) {
        self.end_with_failure(FailureReason::FabricUnreachable);
        if let Some(other) = self.running_pod(1) {
            self.exit(other, 3, "Error");
        }
    }

    pub(super) fn lose(&mut self, rank: u32, loss: Loss) {
        let now = self.now;
        let Some(index) = self.running_pod(rank) else {
            return;
        };
        let pod = &mut self.pods[index];
        match loss {
            Loss::Evicted => {
                pod.phase = PodPhase::Failed;
                pod.status_reason = Some(ContainerReason {
                    reason: "Evicted".to_owned(),
                    message: "The node was low on resource: memory.".to_owned(),
                });
            }
            Loss::Killed => self.exit(index, 137, "Error"),
            Loss::OutOfMemory => self.exit(index, 137, "OOMKilled"),
            Loss::Deleted => {
                let attempt = self.pods.remove(index).attempt;
                let mut jobs = self.jobs.iter_mut();
                let job = jobs.find(|job| job.attempt == attempt).unwrap();
                job.failed_ranks.insert(rank);
            }
            Loss::NodeLost => {
                pod.deletion_deadline = Some(Timestamp::from_second(now + 30).unwrap());
                pod.disruption = Some(ContainerReason {
                    reason: "DeletionByTaintManager".to_owned(),
                    message: String::new(),
                });
            }
        }
        // Worker 0 notices the loss of its peer.
        if rank == 1 {
            self.end_with_failure(FailureReason::PeerLost);
        }
    }

    pub(super) fn truncate_log(&mut self) {
        if let Some(coordinator) = self.running_pod(0) {
            self.logs.get_mut(&self.pods[coordinator].uid).unwrap().truncated = true;
        }
    }

    fn is_lost(pod: &PodState) -> bool {
        pod.disruption.is_some() && !pod.phase.is_finished()
    }

    pub(super) fn remove_orphaned_pods(&mut self) {
        let jobs: BTreeSet<_> = self.jobs.iter().map(|job| job.attempt).collect();
        self.pods
            .retain(|pod| jobs.contains(&pod.attempt) || Self::is_lost(pod));
    }

    /// Removes the Node objects of lost nodes, which removes their pods.
    pub(super) fn remove_lost_nodes(&mut self) {
        for pod in self.pods.extract_if(.., |pod| Self::is_lost(pod)) {
            let mut jobs = self.jobs.iter_mut();
            if let Some(job) = jobs.find(|job| job.attempt == pod.attempt) {
                job.failed_ranks.insert(pod.rank);
            }
        }
    }

    pub(super) fn delete_run(&mut self) {
        self.deleting = true;
        if !self.finalizer {
            let started = self.pods.iter().any(|pod| pod.started_at.is_some());
            assert!(!started, "a worker outlives the run");
            self.run_gone = true;
            self.jobs.clear();
        }
    }
}
