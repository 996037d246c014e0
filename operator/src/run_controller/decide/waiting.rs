//! What a gang that does not run yet waits for, in the cluster's own words. Pure.

use jiff::Timestamp;

use super::cause::{is_pull, is_retried, retried_until, words};
use crate::campaign::status::Phase;
use crate::run_controller::observed::{CreationRefused, PodState};
use crds::v1alpha1::Reason;

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// A closed word.
    pub(super) reason: Reason,
    /// A sentence.
    pub(super) message: String,
    /// When time alone changes the answer.
    pub(super) until: Option<Timestamp>,
}

impl Waiting {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            until: None,
        }
    }

    pub(super) fn for_admission() -> Self {
        Self::new(
            Reason::WaitingForAdmission,
            "the Job is suspended: its queue has not admitted it. Where there is no such queue, or nothing like Kueue, nobody \
             will",
        )
    }

    pub(super) fn for_creation(refused: &CreationRefused) -> Self {
        Self::new(Reason::FailedCreate, refused.message.clone())
    }

    /// The cluster has made `made` pods, and no more for some time.
    pub(super) fn for_pods(made: usize, workers: u32) -> Self {
        Self::new(
            Reason::FailedCreate,
            format!(
                "only {made} of {workers} pods are made: the events of the Job say why (kubectl describe job), as a rule a \
                 quota, a policy, or a priority class that is not there"
            ),
        )
    }

    /// The gang of `run` has nodes that this one could want; `words` are the scheduler's.
    pub(super) fn for_gang(run: &str, words: &str) -> Self {
        Self::new(
            Reason::WaitingForNodes,
            format!("the gang of {run} runs on nodes that it could have; {words}"),
        )
    }

    /// Whether it is somebody else's turn, for as long as that takes.
    pub(super) fn is_in_line(&self) -> bool {
        matches!(self.reason, Reason::WaitingForAdmission | Reason::WaitingForNodes)
    }

    pub(super) fn phase(&self) -> Phase {
        Phase::Pending {
            reason: self.reason,
            message: self.message.clone(),
        }
    }
}

/// What the gang with `pods`, which should be `workers`, waits for: the gravest thing of any pod.
pub(super) fn starting(pods: &[&PodState], workers: u32) -> Waiting {
    if let Some((pod, message)) = pods
        .iter()
        .find_map(|pod| Some((pod, pod.unschedulable.as_ref()?)))
    {
        return Waiting::new(Reason::Unschedulable, format!("pod {}: {message}", pod.name));
    }
    let retried = pods.iter().find_map(|pod| {
        let told = pod.waiting.as_ref().filter(|told| is_retried(told))?;
        Some((pod, told))
    });
    if let Some((pod, told)) = retried {
        let reason = match is_pull(told) {
            true => Reason::PullingImage,
            false => Reason::PodsStarting,
        };
        return Waiting {
            until: retried_until(pod),
            ..Waiting::new(reason, words(pod, told))
        };
    }
    let started = pods.iter().filter(|pod| pod.started_at.is_some()).count();
    let slow = pods.iter().find_map(|pod| Some((pod, pod.waiting.as_ref()?)));
    let slow = slow.map_or_else(String::new, |(pod, told)| format!("; {}", words(pod, told)));
    Waiting::new(
        Reason::PodsStarting,
        format!("{started} of {workers} workers run{slow}"),
    )
}
