//! What a gang that does not run yet waits for, in the cluster's own words. Pure.

use jiff::Timestamp;

use super::cause::{image_deadline, is_pull, words};
use crate::campaign::status::Phase;
use crate::run_controller::observed::PodState;
use crate::run_controller::reason::Reason;

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
            "the Job is suspended: its queue has not admitted it",
        )
    }

    pub(super) fn phase(&self) -> Phase {
        Phase::Pending {
            reason: self.reason.as_str(),
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
    let pulls = |pod: &&&PodState| pod.waiting.as_ref().is_some_and(is_pull);
    if let Some(pod) = pods.iter().find(pulls) {
        let told = pod.waiting.as_ref();
        return Waiting {
            until: image_deadline(pod),
            ..Waiting::new(
                Reason::ImagePull,
                told.map_or_else(String::new, |told| words(pod, told)),
            )
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
