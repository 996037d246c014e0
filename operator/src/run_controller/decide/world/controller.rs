//! A controller that carries out what is decided, with caches that lag and a memory that dies with it.

use super::super::decide;
use super::checks;
use super::cluster::Cluster;
use crate::run_controller::action::{Action, Decision};
use crate::run_controller::observed::{
    AttemptId, CreationRefused, JobState, Observed, PodState, Preflight, Records, StreamState,
};

#[derive(Debug, Default)]
pub(super) struct Controller {
    jobs: Vec<JobState>,
    pods: Vec<PodState>,
    stream: Option<StreamState>,
    records_read: bool,
    prepared: Option<AttemptId>,
    refused: Option<CreationRefused>,
}

impl Controller {
    /// After a start the caches are filled anew, and nothing else is known.
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
        let mut listed = None;
        for _ in 0..actions {
            if cluster.run_gone {
                return;
            }
            let decision = {
                let observed = self.observe(cluster, listed.take());
                let again = decide(&cluster.facts, &observed, cluster.time());
                assert_eq!(again, decide(&cluster.facts, &observed, cluster.time()));
                again
            };
            checks::decision(cluster, &decision);
            let Decision { action, phase, .. } = decision;
            if let Some(phase) = phase {
                cluster.phase = Some(phase);
            }
            match action {
                Action::Wait { until } => {
                    assert!(
                        until.is_none_or(|until| until > cluster.time()),
                        "waits for what has been"
                    );
                    return;
                }
                Action::ReadRecords => self.records_read = true,
                Action::Keep(kept) => cluster.kept = *kept,
                Action::Create { attempt, .. } => {
                    cluster.create_job(attempt);
                    // The Job is waited for.
                    return;
                }
                Action::Prepare { .. } if cluster.refuses => {
                    self.refused = Some(CreationRefused {
                        message: "exceeded quota".to_owned(),
                        for_good: false,
                    });
                }
                // What workers need comes after the finalizer, and the controller may die in between.
                Action::Prepare { .. } if !cluster.finalizer => cluster.finalizer = true,
                Action::Prepare { attempt, .. } => {
                    cluster.prepared.insert(attempt);
                    self.prepared = Some(attempt);
                    self.refused = None;
                }
                Action::Follow { pod_uid, .. } => {
                    self.stream = Some(StreamState {
                        pod_uid,
                        closed: false,
                        end: None,
                        fault: None,
                    });
                }
                Action::Delete { job_uid, .. } => {
                    cluster.jobs.retain(|job| job.uid != job_uid);
                    self.jobs.retain(|job| job.uid != job_uid);
                }
                Action::ListPods => listed = Some(cluster.pods.clone()),
                Action::RemoveFinalizer => {
                    cluster.run_gone = true;
                    return;
                }
                Action::DeleteRun => cluster.delete_run(),
            }
        }
    }

    fn observe<'a>(&self, cluster: &'a Cluster, listed: Option<Vec<PodState>>) -> Observed<'a> {
        Observed {
            deleting: cluster.deleting,
            finalizer: cluster.finalizer,
            suspend: cluster.suspend,
            release_pods: false,
            kept: cluster.kept.clone(),
            jobs: self.jobs.clone(),
            prepared: self.prepared,
            pods: self.pods.clone(),
            stream: self.stream.clone(),
            records: match self.records_read {
                true => Records::Read(&cluster.chain),
                false => Records::Unread,
            },
            preflight: Preflight::Skipped,
            ahead: cluster.gated.then(|| "elsewhere/other".to_owned()),
            beside: None,
            listed,
            // Tried again after a while: the quota may be another.
            refused: self.refused.clone().filter(|_| cluster.refuses),
        }
    }

    /// Reads on, and persists every whole block before it is known.
    pub(super) fn read_log(&mut self, cluster: &mut Cluster) {
        let Some(stream) = self.stream.as_mut().filter(|stream| !stream.closed) else {
            return;
        };
        let Some(log) = cluster.logs.get(&stream.pod_uid).cloned() else {
            return;
        };
        let pod = cluster.pods.iter().find(|pod| pod.uid == stream.pod_uid);
        // A pod that is gone, or whose node is, has no log any more.
        let Some(pod) = pod.filter(|pod| pod.gone_by.is_none()) else {
            stream.closed = true;
            stream.fault = Some("the pod is gone".to_owned());
            return;
        };
        if log.cut {
            stream.closed = true;
            stream.fault = Some("a line was lost".to_owned());
            return;
        }
        for block in &log.blocks {
            cluster.chain.entry(pod.attempt.leg).or_default().insert(*block);
        }
        // An empty run has no chain to read.
        self.records_read = true;
        stream.end.clone_from(&log.end);
        stream.closed = pod.ended.is_some() || pod.phase.is_over();
    }
}
