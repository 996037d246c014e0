//! Reasons that a gang is not running yet. Performs no I/O.

use std::time::Duration;

use campaign::status::Phase;
use jiff::Timestamp;

use super::pod_failure::{describe, is_image_pull_failure, is_retried_by_kubelet, kubelet_retry_deadline};
use crate::run_controller::observed::{CreationRejected, PodState};
use crds::v1alpha1::Reason;

/// Why a run is waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) reason: Reason,
    pub(super) message: String,
    /// Time at which the decision changes even if nothing else changes.
    pub(super) until: Option<Timestamp>,
    /// Whether a queue has withdrawn its admission. It may never admit the Job again.
    pub(super) is_admission_withdrawn: bool,
}

impl Waiting {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            until: None,
            is_admission_withdrawn: false,
        }
    }

    pub(super) fn for_admission() -> Self {
        Self::new(
            Reason::WaitingForAdmission,
            "the Job is suspended until its queue admits it. Its Workload says what it waits for (kubectl describe \
             workload). If there is none, check that a queue controller such as Kueue is installed",
        )
    }

    /// Creates the reason for a run whose Job the queue has suspended again before its workers had started.
    pub(super) fn for_readmission() -> Self {
        Self {
            is_admission_withdrawn: true,
            ..Self::new(
                Reason::WaitingForAdmission,
                "the queue suspended the Job again before its workers had started, and has not admitted it since. Check \
                 whether its Workload is deactivated (kubectl describe workload)",
            )
        }
    }

    pub(super) fn for_rejected_creation(rejected: &CreationRejected) -> Self {
        Self::new(rejected.reason, rejected.message.clone())
    }

    /// Creates the reason for a run that is waiting for pods that the cluster has not created in time.
    pub(super) fn for_missing_pods(created: usize, workers: u32) -> Self {
        Self::new(
            Reason::FailedCreate,
            format!(
                "only {created} of {workers} pods were created. The Job's events show the cause (kubectl describe job), \
                 usually a quota, a policy or a missing priority class"
            ),
        )
    }

    /// Creates the reason for a run that is waiting for nodes occupied by the gang of another run, which `run` describes.
    pub(super) fn for_competing_run(run: &str, scheduler_message: &str) -> Self {
        Self::new(
            Reason::WaitingForNodes,
            format!("{run} occupies nodes that this gang could use; {scheduler_message}"),
        )
    }

    /// Creates the reason for a run that has lost its place on nodes `lost` times, and requests no other place before
    /// `until`.
    pub(super) fn after_lost_places(lost: u32, until: Timestamp) -> Self {
        let times = match lost {
            1 => "once".to_owned(),
            _ => format!("{lost} times"),
        };
        Self {
            until: Some(until),
            ..Self::new(
                Reason::WaitingForNodes,
                format!(
                    "the gang did not start and lost its place {times} (status.execution.attempts says why); it gets \
                     another turn after {until}"
                ),
            )
        }
    }

    /// Creates the reason for a run that is waiting for nodes that a cluster autoscaler may add. `unmet` describes the
    /// unmet requirements.
    pub(super) fn for_missing_nodes(unmet: &str, scheduler_message: &str) -> Self {
        Self::new(Reason::Unschedulable, format!("{unmet}; {scheduler_message}"))
    }

    /// Explains why a gang that waited for this reason lost its place `after` a time without progress.
    pub(super) fn place_lost_after(&self, after: Duration) -> String {
        format!(
            "the gang made no progress for {} s while other runs were waiting for its nodes: {}: {}",
            after.as_secs(),
            self.reason,
            self.message
        )
    }

    /// Whether the run is waiting for a queue or for other runs. Such a wait has no time limit, unless the queue has
    /// withdrawn its admission.
    pub(super) fn is_queued(&self) -> bool {
        matches!(self.reason, Reason::WaitingForAdmission | Reason::WaitingForNodes)
            && !self.is_admission_withdrawn
    }

    pub(super) fn phase(&self) -> Phase {
        Phase::Pending {
            reason: self.reason,
            message: self.message.clone(),
        }
    }
}

/// Returns why a gang of `workers` workers has not started yet: the most severe problem among its `pods`.
pub(super) fn for_start(pods: &[&PodState], workers: u32) -> Waiting {
    if let Some((pod, message)) = pods
        .iter()
        .find_map(|pod| Some((pod, pod.unschedulable.as_ref()?)))
    {
        return Waiting::new(Reason::Unschedulable, format!("pod {}: {message}", pod.name));
    }
    let retried = pods.iter().find_map(|pod| {
        let waiting = pod.waiting.as_ref();
        let waiting = waiting.filter(|waiting| is_retried_by_kubelet(waiting))?;
        Some((pod, waiting))
    });
    if let Some((pod, waiting)) = retried {
        let reason = match is_image_pull_failure(waiting) {
            true => Reason::PullingImage,
            false => Reason::PodsStarting,
        };
        return Waiting {
            until: kubelet_retry_deadline(pod),
            ..Waiting::new(reason, describe(pod, waiting))
        };
    }
    let started = pods.iter().filter(|pod| pod.started_at.is_some()).count();
    let waiting = pods.iter().find_map(|pod| Some((pod, pod.waiting.as_ref()?)));
    let waiting = waiting.map_or_else(String::new, |(pod, waiting)| {
        format!("; {}", describe(pod, waiting))
    });
    Waiting::new(
        Reason::PodsStarting,
        format!("{started} of {workers} workers are running{waiting}"),
    )
}
