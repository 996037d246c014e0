//! The simulated controller. It executes decisions, its caches may be stale, and it loses its in-memory state when it
//! restarts.

use crds::v1alpha1::Reason;

use super::super::super::decide;
use super::cluster::Cluster;
use super::invariants;
use crate::run_controller::action::{Action, Decision};
use crate::run_controller::admission::PLACE_TIMEOUT;
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::observed::{
    CreationRejected, JobState, Observed, PodState, Preflight, Records, StreamState,
};
use crate::run_controller::reservations::Reservation;

#[derive(Debug, Default)]
pub(super) struct Controller {
    jobs: Vec<JobState>,
    pods: Vec<PodState>,
    stream: Option<StreamState>,
    records_read: bool,
    prerequisites_ready: Option<AttemptId>,
    creation_rejected: Option<CreationRejected>,
}

impl Controller {
    /// A restarted controller: its caches are current, and it has no other in-memory state.
    pub(super) fn started(cluster: &Cluster) -> Self {
        Self {
            jobs: cluster.jobs.clone(),
            pods: cluster.pods.clone(),
            ..Self::default()
        }
    }

    pub(super) fn sync(&mut self, cluster: &Cluster, jobs: bool, pods: bool) {
        if jobs {
            self.jobs.clone_from(&cluster.jobs);
        }
        if pods {
            self.pods.clone_from(&cluster.pods);
        }
    }

    pub(super) fn reconcile(&mut self, cluster: &mut Cluster, actions: usize) {
        let mut live_pods = None;
        let mut jobs_are_live = false;
        for _ in 0..actions {
            if cluster.run_gone {
                return;
            }
            let decision = {
                let observed = Observed {
                    jobs_are_live: std::mem::take(&mut jobs_are_live),
                    ..self.observe(cluster, live_pods.take())
                };
                let reservation = Reservation {
                    blocked_by: cluster.blocked.then(|| "another run has these nodes".to_owned()),
                    lost_after: cluster.blocked.then_some(PLACE_TIMEOUT),
                    ..Reservation::default()
                };
                let decide = || decide(&cluster.policy, &observed, &reservation, cluster.time());
                let decision = decide();
                assert_eq!(decision, decide());
                decision
            };
            invariants::check_decision(cluster, &decision);
            let Decision { action, phase, .. } = decision;
            if let Some(phase) = phase {
                cluster.phase = Some(phase);
            }
            match action {
                Action::Wait { until } => {
                    assert!(
                        until.is_none_or(|until| until > cluster.time()),
                        "the wait has already ended"
                    );
                    return;
                }
                Action::ReadRecords => self.records_read = true,
                Action::RecordProgress(state) => cluster.persisted = *state,
                Action::CreateJob { attempt, .. } => {
                    cluster.create_job(attempt);
                    // The next reconciliation sees the Job.
                    return;
                }
                Action::CreatePrerequisites { .. } if cluster.quota_full => {
                    self.creation_rejected = Some(CreationRejected {
                        reason: Reason::FailedCreate,
                        message: "exceeded quota".to_owned(),
                        permanent: false,
                    });
                }
                // The finalizer is added before the prerequisites, and the controller may be killed in between.
                Action::CreatePrerequisites { .. } if !cluster.finalizer => cluster.finalizer = true,
                Action::CreatePrerequisites { attempt, .. } => {
                    cluster.prerequisites.insert(attempt);
                    self.prerequisites_ready = Some(attempt);
                    self.creation_rejected = None;
                }
                Action::FollowLog { attempt, pod_uid, .. } => {
                    self.stream = Some(StreamState {
                        attempt,
                        pod_uid,
                        closed: false,
                        end: None,
                        fault: None,
                    });
                }
                Action::DeleteAttempt { job_uid, .. } => {
                    cluster.jobs.retain(|job| job.uid != job_uid);
                    self.jobs.retain(|job| job.uid != job_uid);
                }
                Action::ListJobs => {
                    self.jobs.clone_from(&cluster.jobs);
                    jobs_are_live = true;
                }
                Action::ListPods => live_pods = Some(cluster.pods.clone()),
                Action::RemoveFinalizer => {
                    cluster.run_gone = true;
                    return;
                }
                Action::DeleteRun => cluster.delete_run(),
            }
        }
    }

    fn observe<'a>(&self, cluster: &'a Cluster, live_pods: Option<Vec<PodState>>) -> Observed<'a> {
        Observed {
            deleting: cluster.deleting,
            finalizer: cluster.finalizer,
            suspend: cluster.suspend,
            release_pods: false,
            persisted: cluster.persisted.clone(),
            jobs: self.jobs.clone(),
            jobs_are_live: false,
            prerequisites_ready: self.prerequisites_ready,
            pods: self.pods.clone(),
            stream: self.stream.clone(),
            last_recorded: cluster.last_recorded.filter(|_| self.records_read),
            records: match self.records_read {
                true => Records::Read(&cluster.chain),
                false => Records::Unread,
            },
            preflight: Preflight::Skipped,
            live_pods,
            // The rejected creation is retried after the quota has changed.
            creation_rejected: self.creation_rejected.clone().filter(|_| cluster.quota_full),
        }
    }

    /// Reads the rest of the log, and persists its blocks.
    pub(super) fn read_log(&mut self, cluster: &mut Cluster) {
        let Some(stream) = self.stream.as_mut().filter(|stream| !stream.closed) else {
            return;
        };
        let Some(log) = cluster.logs.get(&stream.pod_uid).cloned() else {
            return;
        };
        let pod = cluster.pods.iter().find(|pod| pod.uid == stream.pod_uid);
        // The log is lost with the pod or its node.
        let Some(pod) = pod.filter(|pod| pod.deletion_deadline.is_none()) else {
            stream.closed = true;
            stream.fault = Some("the pod is gone".to_owned());
            return;
        };
        if log.truncated {
            stream.closed = true;
            stream.fault = Some("a line was lost".to_owned());
            return;
        }
        if !log.blocks.is_empty() {
            cluster.last_recorded = Some(stream.attempt);
        }
        for block in &log.blocks {
            cluster.chain.entry(pod.attempt.leg).or_default().insert(*block);
        }
        // Without earlier records, the controller starts an empty chain, so it does not request ReadRecords.
        self.records_read = true;
        stream.end.clone_from(&log.end);
        stream.closed = pod.terminated.is_some() || pod.phase.is_finished();
    }
}
