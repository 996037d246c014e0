//! What the API server holds, and what happens to it without the controller.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{CaseFailure, EndRecord, FailureReason};
use jiff::Timestamp;

use crate::campaign::status::Phase;
use crate::run_controller::kept::Kept;
use crate::run_controller::observed::{
    AttemptId, ContainerEnd, Facts, JobEnd, JobState, PodPhase, PodState, Told,
};

pub(super) const WORKERS: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    Evicted,
    Killed,
    OutOfMemory,
    Deleted,
    /// It is being deleted, and never goes.
    NodeLost,
}

/// What worker 0 has written.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// Blocks it is told to measure.
    pub told: Vec<u32>,
    pub blocks: Vec<u32>,
    pub end: Option<EndRecord>,
    pub cut: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub now: i64,
    pub facts: Facts,
    pub suspend: bool,
    pub deleting: bool,
    pub finalizer: bool,
    pub run_gone: bool,
    pub gated: bool,
    /// Whether a quota refuses what pods need.
    pub refuses: bool,
    pub kept: Kept,
    pub phase: Option<Phase>,
    pub jobs: Vec<JobState>,
    /// Attempts whose ConfigMap and Service are there.
    pub prepared: BTreeSet<AttemptId>,
    pub pods: Vec<PodState>,
    /// By pod UID.
    pub logs: BTreeMap<String, Log>,
    /// Blocks that are persisted, by leg.
    pub chain: BTreeMap<u32, BTreeSet<u32>>,
    /// Every Job that was ever created.
    pub created: Vec<(AttemptId, String)>,
}

impl Cluster {
    pub(super) fn new() -> Self {
        Self {
            now: 1_000_000,
            facts: Facts {
                plan_changed: false,
                legs: Ok(vec![2, 1, 2]),
                workers: WORKERS,
                active_deadline_seconds: 100_000,
                pending_deadline_seconds: 100_000,
                ttl_seconds_after_finished: None,
                backoff_limit: 2,
            },
            suspend: false,
            deleting: false,
            finalizer: false,
            run_gone: false,
            gated: false,
            refuses: false,
            kept: Kept::default(),
            phase: None,
            jobs: Vec::new(),
            prepared: BTreeSet::new(),
            pods: Vec::new(),
            logs: BTreeMap::new(),
            chain: BTreeMap::new(),
            created: Vec::new(),
        }
    }

    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_second(self.now).unwrap()
    }

    /// Blocks of `leg` that are not persisted. A block has its leg in its number.
    pub(super) fn missing(&self, leg: u32) -> Vec<u32> {
        let blocks = self.facts.legs.as_ref().unwrap()[leg as usize];
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
            suspended: false,
            failed_ranks: BTreeSet::new(),
            end: None,
            since: None,
        });
        self.create_pods(attempt, &uid);
    }

    fn create_pods(&mut self, attempt: AttemptId, prefix: &str) {
        for rank in 0..WORKERS {
            let pod_uid = format!("{prefix}-{rank}");
            if rank == 0 {
                let log = Log {
                    told: self.missing(attempt.leg),
                    ..Log::default()
                };
                self.logs.insert(pod_uid.clone(), log);
            }
            self.pods
                .push(PodState::created(attempt, rank, pod_uid.clone(), pod_uid));
        }
    }

    /// A queue suspends the Job, whose pods go, or lets it go on with others.
    pub(super) fn queue(&mut self, admits: bool) {
        let Some(job) = self.jobs.first_mut().filter(|job| job.end.is_none()) else {
            return;
        };
        if job.suspended != admits {
            return;
        }
        job.suspended = !admits;
        let (attempt, again) = (job.attempt, format!("{}-{}", job.uid, self.now));
        self.pods.retain(|pod| pod.attempt != attempt);
        if admits {
            self.now += 1;
            self.create_pods(attempt, &again);
        }
    }

    /// One pod that waits gets its node, or starts.
    pub(super) fn start_pods(&mut self) {
        let now = self.time();
        let pending = |pod: &&mut PodState| {
            let can_start = pod.phase == PodPhase::Pending && pod.gone_by.is_none();
            can_start && self.prepared.contains(&pod.attempt)
        };
        if let Some(pod) = self.pods.iter_mut().find(pending) {
            pod.node = Some(format!("node-{}", pod.rank));
            pod.scheduled_at = Some(now);
            pod.started_at = Some(now);
            pod.phase = PodPhase::Running;
        }
    }

    fn running(&self, rank: u32) -> Option<usize> {
        let runs = |pod: &PodState| pod.rank == rank && pod.phase == PodPhase::Running && pod.ended.is_none();
        let live = |pod: &PodState| self.jobs.iter().any(|job| job.attempt == pod.attempt);
        self.pods.iter().position(|pod| runs(pod) && live(pod))
    }

    pub(super) fn measure(&mut self) {
        let (Some(coordinator), Some(_)) = (self.running(0), self.running(1)) else {
            return;
        };
        let uid = self.pods[coordinator].uid.clone();
        let log = self.logs.get_mut(&uid).unwrap();
        if let Some(block) = log.told.get(log.blocks.len()) {
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
        job.unwrap().end = Some(JobEnd::Complete);
    }

    fn exit(&mut self, pod: usize, exit_code: i32, reason: &str) {
        let now = self.time();
        let pod = &mut self.pods[pod];
        pod.ended = Some(ContainerEnd {
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

    fn end_with(&mut self, reason: FailureReason) {
        let Some(coordinator) = self.running(0) else {
            return;
        };
        let log = self.logs.get_mut(&self.pods[coordinator].uid).unwrap();
        log.end = Some(EndRecord {
            blocks: log.blocks.len() as u32,
            complete: false,
            failure: Some(CaseFailure {
                reason,
                message: "made up".to_owned(),
            }),
        });
        self.exit(coordinator, 3, "Error");
    }

    pub(super) fn fail_measuring(&mut self) {
        self.end_with(FailureReason::FabricUnreachable);
        if let Some(other) = self.running(1) {
            self.exit(other, 3, "Error");
        }
    }

    pub(super) fn lose(&mut self, rank: u32, how: Loss) {
        let now = self.now;
        let Some(index) = self.running(rank) else { return };
        let pod = &mut self.pods[index];
        match how {
            Loss::Evicted => {
                pod.phase = PodPhase::Failed;
                pod.refused = Some(Told {
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
                pod.gone_by = Some(Timestamp::from_second(now + 30).unwrap());
                pod.disruption = Some(Told {
                    reason: "DeletionByTaintManager".to_owned(),
                    message: String::new(),
                });
            }
        }
        // Worker 0 notices that another one is lost.
        if rank == 1 {
            self.end_with(FailureReason::PeerLost);
        }
    }

    pub(super) fn cut_log(&mut self) {
        if let Some(coordinator) = self.running(0) {
            self.logs.get_mut(&self.pods[coordinator].uid).unwrap().cut = true;
        }
    }

    fn is_lost(pod: &PodState) -> bool {
        pod.disruption.is_some() && !pod.phase.is_over()
    }

    pub(super) fn pods_leave(&mut self) {
        let jobs: BTreeSet<_> = self.jobs.iter().map(|job| job.attempt).collect();
        self.pods
            .retain(|pod| jobs.contains(&pod.attempt) || Self::is_lost(pod));
    }

    /// Node objects of lost nodes go, and their pods with them.
    pub(super) fn nodes_come_back(&mut self) {
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
