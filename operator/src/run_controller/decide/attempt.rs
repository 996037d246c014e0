//! Assesses the attempt in progress from its Job, its pods and worker 0's record stream. Performs no I/O.

mod ending;

use std::time::Duration;

use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::outcome::AttemptOutcome;
use super::waiting::{Waiting, for_start};
use super::{Inputs, earliest, pod_failure};
use crate::run_controller::observed::{JobOutcome, JobState, PodState, Preflight};
use crds::v1alpha1::Reason;
use ending::Ending;

/// Time allowed for worker 0 to report why another worker terminated before all workers had started.
const COORDINATOR_REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// Assessment of the attempt in progress.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AttemptAssessment<'a> {
    /// Some workers have not started.
    Starting(Waiting),
    /// All workers are running.
    Running {
        /// Time at which the last worker started.
        since: Timestamp,
        /// Worker 0's pod.
        coordinator: &'a PodState,
    },
    /// Worker 0's log must be followed. The field is worker 0's pod.
    Follow(&'a PodState),
    /// Worker 0 has terminated or its pod is being deleted, and the controller is waiting for the rest of its log or
    /// to learn why another worker was lost.
    Ending {
        /// Time at which the wait ends.
        until: Option<Timestamp>,
    },
    /// The attempt has ended.
    Ended {
        /// Outcome of the attempt.
        outcome: AttemptOutcome,
        /// Time at which the attempt ended.
        at: Timestamp,
    },
}

/// The observed state of one attempt.
pub(super) struct AttemptView<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    /// The Job of the attempt.
    pub(super) job: &'a JobState,
    /// The pods of the attempt, by rank.
    pub(super) pods: Vec<&'a PodState>,
    /// Whether all workers were observed running.
    pub(super) ran: bool,
    /// Whether every block of the leg is verified and persisted.
    pub(super) measured: bool,
}

/// Assesses `current`, the attempt in progress.
pub(super) fn assess<'a>(inputs: &'a Inputs<'a>, current: &AttemptStatus) -> AttemptAssessment<'a> {
    let now = inputs.now;
    let ended = |outcome| AttemptAssessment::Ended { outcome, at: now };
    let measured = inputs.is_measured(current.leg);
    let job = inputs.observed.jobs.iter().find(|job| job.uid == current.job_uid);
    let Some(job) = job.filter(|job| !job.deleting) else {
        let message = format!(
            "the Job of leg {}, attempt {} was deleted",
            current.leg, current.attempt
        );
        return ended(match measured {
            true => AttemptOutcome::Measured,
            false => AttemptOutcome::Disrupted(Reason::JobDeleted, message),
        });
    };
    let view = AttemptView {
        inputs,
        job,
        pods: pods_by_rank(inputs, current),
        ran: current.state == AttemptState::Running,
        measured,
    };
    if job.suspended {
        // An attempt has only one stream, and the new pods of a readmitted Job would write another one. A Job without a
        // stream has lost nothing, so it keeps its place in the queue, whether or not it was ever admitted.
        let streamed = inputs.observed.has_streamed(job.attempt);
        return match view.ran || view.measured || streamed {
            true => ended(view.unless_measured(|| {
                let message = "the queue preempted the gang: it suspended the Job after admitting it";
                AttemptOutcome::Preempted(message.to_owned())
            })),
            false => AttemptAssessment::Starting(match current.admitted_at {
                Some(_) => Waiting::for_readmission(job, inputs.policy),
                None => Waiting::for_admission(job, inputs.policy),
            }),
        };
    }
    let Some(coordinator) = view.coordinator() else {
        let lost = view.failure().or_else(|| match &job.outcome {
            Some(JobOutcome::Failed(message)) => {
                Some(AttemptOutcome::Disrupted(Reason::GangIncomplete, message.clone()))
            }
            Some(JobOutcome::Complete) | None => None,
        });
        return match lost {
            _ if view.measured => ended(AttemptOutcome::Measured),
            Some(outcome) => ended(outcome),
            None => AttemptAssessment::Starting(view.waiting()),
        };
    };
    if view.ran && current.coordinator_pod_uid.as_deref() != Some(&coordinator.uid) {
        // The Job does not replace a pod that failed or was deleted, so it was suspended and resumed in the meantime.
        let message = format!(
            "the queue preempted the gang and admitted it again: pod {} replaced worker 0's pod",
            coordinator.name
        );
        return ended(view.unless_measured(|| AttemptOutcome::Preempted(message)));
    }
    let terminated = coordinator.terminated.as_ref();
    let at = terminated.and_then(|terminated| terminated.at).unwrap_or(now);
    match ending::assess(&view, coordinator) {
        Ending::Follow => return AttemptAssessment::Follow(coordinator),
        Ending::Wait { until } => return AttemptAssessment::Ending { until },
        Ending::Ended(outcome) => return AttemptAssessment::Ended { outcome, at },
        Ending::InProgress => {}
    }
    match (view.ran, view.all_running_since()) {
        (true, _) => AttemptAssessment::Running {
            // This value is not used, because the status already contains the start time.
            since: now,
            coordinator,
        },
        (false, Some(since)) => AttemptAssessment::Running { since, coordinator },
        (false, None) => match view.failure().or_else(|| view.early_exit()) {
            Some(outcome) => ended(outcome),
            None => {
                let mut waiting = view.waiting();
                waiting.until = earliest(waiting.until, view.report_deadline());
                AttemptAssessment::Starting(waiting)
            }
        },
    }
}

/// Returns the pods that the Job of `attempt` controls, by rank. If two pods have the same rank, the one that is not terminating is used.
fn pods_by_rank<'a>(inputs: &'a Inputs<'a>, attempt: &AttemptStatus) -> Vec<&'a PodState> {
    let pods = inputs.observed.pods.iter();
    let mut pods: Vec<_> = pods.filter(|pod| pod.job_uid == attempt.job_uid).collect();
    pods.sort_by_key(|pod| (pod.rank, pod.deletion_deadline.is_some(), &pod.uid));
    pods.dedup_by_key(|pod| pod.rank);
    pods
}

impl<'a> AttemptView<'a> {
    /// Returns why the gang is waiting.
    fn waiting(&self) -> Waiting {
        let Inputs {
            policy,
            reservation,
            now,
            ..
        } = self.inputs;
        let waiting = for_start(&self.pods, policy.workers);
        if let Some(overdue_at) = self.job.missing_pods_overdue_at(self.pods.len(), policy.workers) {
            return match overdue_at <= *now {
                true => Waiting::for_missing_pods(self.pods.len(), policy),
                false => Waiting {
                    until: earliest(waiting.until, Some(overdue_at)),
                    ..waiting
                },
            };
        }
        if waiting.reason != Reason::Unschedulable {
            return waiting;
        }
        match (&reservation.competing_run, &self.inputs.observed.preflight) {
            (Some(run), _) => Waiting::for_competing_run(run, &waiting.message),
            (None, Preflight::Warned(unmet)) => Waiting::for_missing_nodes(unmet, &waiting.message),
            _ => waiting,
        }
    }

    pub(super) fn coordinator(&self) -> Option<&'a PodState> {
        self.pods.first().filter(|pod| pod.rank == 0).copied()
    }

    pub(super) fn unless_measured(&self, outcome: impl FnOnce() -> AttemptOutcome) -> AttemptOutcome {
        match self.measured {
            true => AttemptOutcome::Measured,
            false => outcome(),
        }
    }

    /// Returns the time at which the last worker started; `None` unless all workers are running.
    pub(super) fn all_running_since(&self) -> Option<Timestamp> {
        let running = self
            .pods
            .iter()
            .filter(|pod| !pod.phase.is_finished() && pod.terminated.is_none());
        let started: Vec<_> = running.filter_map(|pod| pod.started_at).collect();
        let all = started.len() == self.inputs.policy.workers as usize;
        all.then(|| started.into_iter().max()).flatten()
    }

    /// Returns the deadline for worker 0 to report why another worker terminated before all workers had started.
    fn report_deadline(&self) -> Option<Timestamp> {
        let terminated = self.pods.iter().filter_map(|pod| pod.terminated.as_ref()?.at);
        terminated.min()?.checked_add(COORDINATOR_REPORT_TIMEOUT).ok()
    }

    /// Returns the outcome of an attempt in which a worker terminated before all workers had started; `None` before
    /// [`Self::report_deadline`].
    fn early_exit(&self) -> Option<AttemptOutcome> {
        self.report_deadline().filter(|until| *until <= self.inputs.now)?;
        let pod = self.pods.iter().find(|pod| pod.terminated.is_some())?;
        let terminated = pod.terminated.as_ref()?;
        Some(AttemptOutcome::Failed(
            Reason::WorkerFailed,
            format!(
                "pod {}: {}",
                pod.name,
                pod_failure::describe_termination(terminated)
            ),
        ))
    }

    /// Returns the outcome caused by the worker with the lowest rank among those that cannot continue. A missing pod is
    /// treated as deleted if all workers were observed running or the Job lists its rank as failed.
    pub(super) fn failure(&self) -> Option<AttemptOutcome> {
        (0..self.inputs.policy.workers).find_map(|rank| {
            let pod = self.pods.iter().find(|pod| pod.rank == rank);
            match pod {
                Some(pod) => pod_failure::classify(pod, self.inputs.now),
                None if self.ran || self.job.failed_ranks.contains(&rank) => {
                    let message = format!("worker {rank}'s pod was deleted");
                    Some(AttemptOutcome::Disrupted(Reason::PodDeleted, message))
                }
                None => None,
            }
        })
    }
}
