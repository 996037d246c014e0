//! In-memory state that is kept for a run between reconciliations. After a restart, it is recovered from the cluster.
//! To save memory, the session of a waiting run holds no plan, and a finished run has no session. Performs no I/O.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use campaign::Evaluation;
use campaign::collect::{Collector, Reports};
use campaign::plan::{HashedPlan, estimate, plan};
use campaign::stopping::Stopping;
use campaign::validate::validate;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use tokio::time::Instant;

use super::attempt_id::AttemptId;
use super::follow_logs::Follower;
use super::observed::{CreationRejected, PodState};
use super::policy_check;
use super::record_chain::MAX_PLANNED_BYTES;
use super::records::RecordStore;
use super::store::RunKey;
use crate::options::OperatorConfig;

/// Delay before a rejected creation is retried. The operator does not watch quotas or policies.
pub(super) const REJECTION_RETRY: Duration = Duration::from_secs(30);

/// The sessions of all runs in progress.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<RunKey, Arc<tokio::sync::Mutex<Session>>>>);

impl Sessions {
    /// Returns the session of the run with `uid`. Creates a new session if the existing one belongs to an earlier run
    /// with the same name.
    pub(super) fn get_or_create(&self, key: &RunKey, uid: &str) -> Arc<tokio::sync::Mutex<Session>> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = sessions.get(key).filter(|session| {
            // A run is never reconciled concurrently with itself, so the lock is free.
            session.try_lock().is_ok_and(|session| session.uid == uid)
        });
        if let Some(found) = found {
            return Arc::clone(found);
        }
        let new = Arc::new(tokio::sync::Mutex::new(Session::new(uid)));
        sessions.insert(key.clone(), Arc::clone(&new));
        new
    }

    pub(super) fn forget(&self, key: &RunKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// In-memory state of one run.
pub(super) struct Session {
    pub(super) uid: String,
    /// Blocks that each leg needs, or why the run has no plan.
    pub(super) legs: Option<Result<PlannedLegs, String>>,
    /// The plan, while a log is followed.
    pub(super) plan: Option<Arc<HashedPlan>>,
    /// The persisted records.
    pub(super) records: SessionRecords,
    /// The evaluation of the persisted records, if it has been computed.
    pub(super) evaluation: Option<Arc<Evaluation>>,
    pub(super) follower: Option<Box<Follower>>,
    /// This process's last write, until the cache contains it.
    pub(super) last_write: Option<Box<LastWrite>>,
    /// The last attempt whose ConfigMap and Service this process has created.
    pub(super) prerequisites_ready: Option<AttemptId>,
    /// The last creation that the cluster rejected, and the time of the rejection.
    pub(super) creation_rejected: Option<(CreationRejected, Instant)>,
}

/// Blocks that a run's legs need, according to the analyses so far.
#[derive(Clone, Debug)]
pub(super) struct PlannedLegs {
    /// Number of blocks that each leg needs.
    pub(super) blocks: Vec<u32>,
    /// Plan hash.
    pub(super) plan_hash: String,
    /// The analyses so far.
    pub(super) stopping: Stopping,
    /// Whether further analyses may change what the legs need.
    pub(super) has_several_analyses: bool,
    /// Number of persisted blocks at the time of the computation.
    pub(super) blocks_done: u32,
}

impl PlannedLegs {
    /// Whether analyses may have become possible since the computation.
    pub(super) fn is_outdated(&self, blocks_done: u32) -> bool {
        self.has_several_analyses && self.blocks_done != blocks_done
    }
}

/// The records of a run.
pub(super) enum SessionRecords {
    Unread,
    /// The run has no records. A waiting run needs no collector, which would hold every block of the plan.
    Empty,
    Read {
        store: Box<RecordStore>,
        collector: Box<Collector>,
    },
    Broken(String),
}

/// State of a run after this process's last write.
#[derive(Clone, Debug)]
pub(super) struct LastWrite {
    pub(super) resource_version: String,
    pub(super) status: Option<BenchmarkRunStatus>,
    pub(super) has_finalizer: bool,
}

impl Session {
    pub(super) fn new(uid: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            legs: None,
            plan: None,
            records: SessionRecords::Unread,
            evaluation: None,
            follower: None,
            last_write: None,
            prerequisites_ready: None,
            creation_rejected: None,
        }
    }

    /// Returns the persisted records if this process has read them.
    pub(super) fn reports(&self) -> Option<&Reports> {
        match &self.records {
            SessionRecords::Read { collector, .. } => Some(collector.reports()),
            SessionRecords::Unread | SessionRecords::Empty | SessionRecords::Broken(_) => None,
        }
    }

    /// Returns the run's plan, or why the run has no plan, including the field and the fix.
    pub(super) fn plan(
        &mut self,
        run: &BenchmarkRun,
        config: &OperatorConfig,
    ) -> Result<Arc<HashedPlan>, String> {
        if let Some(plan) = &self.plan {
            return Ok(Arc::clone(plan));
        }
        if let Some(rejection) = policy_check::rejection(run, config) {
            return Err(rejection);
        }
        let validated = validate(run).map_err(|problems| {
            let problems: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
            problems.join("; ")
        })?;
        let planned = plan(&validated).map_err(|error| error.to_string())?;
        let bytes = estimate(&planned).stream_bytes;
        if bytes > MAX_PLANNED_BYTES {
            return Err(format!(
                "the run's records would take about {bytes} bytes, but the limit in a cluster is \
                 {MAX_PLANNED_BYTES}. Use fewer rounds, sizes, variants or workers, or split the run"
            ));
        }
        Ok(Arc::clone(self.plan.insert(Arc::new(planned))))
    }

    /// Forgets a rejected creation that is due to be retried.
    pub(super) fn expire_rejection(&mut self) {
        self.creation_rejected
            .take_if(|(rejected, at)| !rejected.permanent && at.elapsed() >= REJECTION_RETRY);
    }

    /// Notifies the follower if the worker's container has terminated. A pod that is missing from the cache is treated
    /// as terminated; if the pod is gone, the API server responds to the request for its log with 404.
    pub(super) fn notify_follower(&self, pods: &[PodState]) {
        let Some(follower) = &self.follower else { return };
        let pod = pods.iter().find(|pod| pod.uid == follower.source.pod_uid);
        if pod.is_none_or(|pod| pod.terminated.is_some() || pod.phase.is_finished()) {
            follower.container_terminated();
        }
    }

    /// Drops everything that can be recomputed and is not needed until the next change.
    pub(super) fn shrink(&mut self) {
        if self.follower.is_none() {
            self.plan = None;
            self.evaluation = None;
        }
    }
}
