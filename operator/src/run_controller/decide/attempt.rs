//! How the attempt that is going on stands, from its Job, its pods and the log of worker 0. Pure.

mod ending;

use std::time::Duration;

use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::waiting::{Waiting, starting};
use super::{Pass, cause, earliest};
use crate::run_controller::kept::id;
use crate::run_controller::observed::{JobEnd, JobState, PodState};
use crds::v1alpha1::Reason;

/// How long worker 0 may take to say why another worker left before all ran.
const WORDS_OF_COORDINATOR: Duration = Duration::from_secs(30);

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Every block of its leg is measured.
    Measured,
    /// Something outside of the measurement ended it: what is missing is measured by another attempt.
    Disrupted(Reason, String),
    /// The measurement itself failed: the run does.
    Failed(Reason, String),
}

/// How an attempt stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Judgement<'a> {
    /// Its gang does not run as a whole yet.
    Starting(Waiting),
    /// All its workers run.
    Running {
        /// Since when.
        since: Timestamp,
        /// The pod of worker 0.
        coordinator: &'a PodState,
    },
    /// The log of its worker 0 has to be read.
    Follow(&'a PodState),
    /// It is over, and what is left of its log, or the reason of a loss, is on its way.
    Ending {
        /// Until when that is waited for.
        until: Option<Timestamp>,
    },
    /// It is over.
    Ended {
        /// How.
        how: Ended,
        /// When.
        at: Timestamp,
    },
}

/// What is looked at of one attempt.
pub(super) struct View<'a> {
    pub(super) pass: &'a Pass<'a>,
    /// Its Job.
    pub(super) job: &'a JobState,
    /// Its pods by rank.
    pub(super) pods: Vec<&'a PodState>,
    /// Whether its gang was seen to run as a whole.
    pub(super) ran: bool,
    /// Whether every block of its leg is proven and persisted.
    pub(super) measured: bool,
}

/// How `current`, the attempt that is going on, stands.
pub(super) fn judge<'a>(pass: &'a Pass<'a>, current: &AttemptStatus) -> Judgement<'a> {
    let now = pass.now;
    let over = |how| Judgement::Ended { how, at: now };
    let measured = pass.is_measured(current.leg);
    let job = pass.observed.jobs.iter().find(|job| job.uid == current.job_uid);
    let Some(job) = job.filter(|job| !job.deleting) else {
        let message = format!(
            "the Job of leg {}, attempt {} was deleted",
            current.leg, current.attempt
        );
        return over(match measured {
            true => Ended::Measured,
            false => Ended::Disrupted(Reason::JobDeleted, message),
        });
    };
    let view = View {
        pass,
        job,
        pods: pods(pass, current),
        ran: current.state == AttemptState::Running,
        measured,
    };
    if job.suspended {
        // Another pod would write another stream.
        let streamed = pass.observed.stream.is_some();
        return match view.ran || view.measured || streamed {
            true => over(view.unless_measured(|| {
                Ended::Disrupted(
                    Reason::Preempted,
                    "the queue took the gang's place back".to_owned(),
                )
            })),
            false => Judgement::Starting(Waiting::for_admission()),
        };
    }
    let Some(coordinator) = view.coordinator() else {
        let lost = view.cause().or_else(|| match &job.end {
            Some(JobEnd::Failed(words)) => Some(Ended::Disrupted(Reason::GangIncomplete, words.clone())),
            Some(JobEnd::Complete) | None => None,
        });
        return match lost {
            _ if view.measured => over(Ended::Measured),
            Some(how) => over(how),
            None => Judgement::Starting(view.waiting()),
        };
    };
    if view.ran && current.coordinator_pod_uid.as_deref() != Some(&coordinator.uid) {
        let message = format!("another pod took the place of worker 0: {}", coordinator.name);
        return over(view.unless_measured(|| Ended::Disrupted(Reason::PodDeleted, message)));
    }
    let at = coordinator.ended.as_ref().and_then(|end| end.at).unwrap_or(now);
    match ending::of(&view, coordinator) {
        ending::Ending::Follow => return Judgement::Follow(coordinator),
        ending::Ending::Wait { until } => return Judgement::Ending { until },
        ending::Ending::Ended(how) => return Judgement::Ended { how, at },
        ending::Ending::GoesOn => {}
    }
    match (view.ran, view.all_run()) {
        (true, _) => Judgement::Running {
            // Seen before: its beginning is in the status.
            since: now,
            coordinator,
        },
        (false, Some(since)) => Judgement::Running { since, coordinator },
        (false, None) => match view.cause().or_else(|| view.left_early()) {
            Some(how) => over(how),
            None => {
                let mut waiting = view.waiting();
                waiting.until = earliest(waiting.until, view.patience());
                Judgement::Starting(waiting)
            }
        },
    }
}

/// The pods of `attempt`, by rank; where a rank has two, the one that is not leaving first.
fn pods<'a>(pass: &'a Pass<'a>, attempt: &AttemptStatus) -> Vec<&'a PodState> {
    let all = pass.observed.pods.iter();
    let mut pods: Vec<_> = all.filter(|pod| pod.attempt == id(attempt)).collect();
    pods.sort_by_key(|pod| (pod.rank, pod.gone_by.is_some(), &pod.uid));
    pods.dedup_by_key(|pod| pod.rank);
    pods
}

impl<'a> View<'a> {
    /// What the gang waits for: pods that are not made, another gang, or what the pods say.
    fn waiting(&self) -> Waiting {
        let Pass {
            facts, observed, now, ..
        } = self.pass;
        let waiting = starting(&self.pods, facts.workers);
        if let Some(from) = self.job.unmade_from(self.pods.len(), facts.workers) {
            return match from <= *now {
                true => Waiting::for_pods(self.pods.len(), facts.workers),
                false => Waiting {
                    until: earliest(waiting.until, Some(from)),
                    ..waiting
                },
            };
        }
        match (&observed.beside, waiting.reason) {
            (Some(beside), Reason::Unschedulable) => Waiting::for_gang(beside, &waiting.message),
            _ => waiting,
        }
    }

    pub(super) fn coordinator(&self) -> Option<&'a PodState> {
        self.pods.first().filter(|pod| pod.rank == 0).copied()
    }

    pub(super) fn unless_measured(&self, how: impl FnOnce() -> Ended) -> Ended {
        match self.measured {
            true => Ended::Measured,
            false => how(),
        }
    }

    /// Since when all workers run, where they do.
    pub(super) fn all_run(&self) -> Option<Timestamp> {
        let running = self
            .pods
            .iter()
            .filter(|pod| !pod.phase.is_over() && pod.ended.is_none());
        let started: Vec<_> = running.filter_map(|pod| pod.started_at).collect();
        let all = started.len() == self.pass.facts.workers as usize;
        all.then(|| started.into_iter().max()).flatten()
    }

    /// Until when worker 0 may say itself why another worker left before all ran.
    fn patience(&self) -> Option<Timestamp> {
        let left = self.pods.iter().filter_map(|pod| pod.ended.as_ref()?.at).min()?;
        left.checked_add(WORDS_OF_COORDINATOR).ok()
    }

    /// A worker that left by itself before all ran, once worker 0 had its time to say why.
    fn left_early(&self) -> Option<Ended> {
        self.patience().filter(|until| *until <= self.pass.now)?;
        let pod = self.pods.iter().find(|pod| pod.ended.is_some())?;
        let end = pod.ended.as_ref()?;
        Some(Ended::Failed(
            Reason::WorkerFailed,
            format!("pod {}: {}", pod.name, cause::how(end)),
        ))
    }

    /// Why some worker does not go on, the lowest rank first. After all ran, one without a pod was deleted.
    pub(super) fn cause(&self) -> Option<Ended> {
        (0..self.pass.facts.workers).find_map(|rank| {
            let pod = self.pods.iter().find(|pod| pod.rank == rank);
            match pod {
                Some(pod) => cause::of(pod, self.pass.now),
                None if self.ran || self.job.failed_ranks.contains(&rank) => {
                    let message = format!("the pod of worker {rank} is gone");
                    Some(Ended::Disrupted(Reason::PodDeleted, message))
                }
                None => None,
            }
        })
    }
}
