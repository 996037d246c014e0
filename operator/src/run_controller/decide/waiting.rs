//! Reasons that a gang is not running yet. Performs no I/O.

use std::time::Duration;

use campaign::status::Phase;
use jiff::Timestamp;

use super::pod_failure::{describe, is_image_pull_failure, is_retried_by_kubelet, kubelet_retry_deadline};
use crate::run_controller::observed::{CreationRejected, JobState, PodState, RunPolicyView};
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

    /// Creates the reason for a run whose `job` the queue has not admitted yet.
    pub(super) fn for_admission(job: &JobState, policy: &RunPolicyView) -> Self {
        let (queue, workload) = (queue(policy), workload(job));
        Self::new(
            Reason::WaitingForAdmission,
            format!(
                "the Job of leg {}, attempt {} is suspended until {queue} admits it. Its Workload says what it waits for ({workload}). If \
                 there is none, check that the LocalQueue exists in the namespace of the run, and that a queue controller \
                 such as Kueue is installed",
                job.attempt.leg, job.attempt.attempt
            ),
        )
    }

    /// Creates the reason for a run whose `job` the queue has suspended again before its workers had started.
    pub(super) fn for_readmission(job: &JobState, policy: &RunPolicyView) -> Self {
        let (queue, workload) = (queue(policy), workload(job));
        Self {
            is_admission_withdrawn: true,
            ..Self::new(
                Reason::WaitingForAdmission,
                format!(
                    "{queue} suspended the Job of leg {}, attempt {} again before its workers had started, and has not admitted \
                     it since. Check whether its Workload is deactivated ({workload})",
                    job.attempt.leg, job.attempt.attempt
                ),
            )
        }
    }

    pub(super) fn for_rejected_creation(rejected: &CreationRejected) -> Self {
        Self::new(rejected.reason, rejected.message.clone())
    }

    /// Creates the reason for a run that is waiting for pods that the cluster has not created in time.
    pub(super) fn for_missing_pods(created: usize, policy: &RunPolicyView) -> Self {
        let priority_class = policy.priority_class.as_ref().map_or_else(String::new, |name| {
            format!(
                ", or the PriorityClass `{name}` of spec.placement.priorityClassName, if it does not exist"
            )
        });
        Self::new(
            Reason::FailedCreate,
            format!(
                "only {created} of {} pods were created. The Job's events show the cause (kubectl describe job), usually a \
                 quota or a policy{priority_class}",
                policy.workers
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

/// The queue of a run and the field that names it.
fn queue(policy: &RunPolicyView) -> String {
    let name = policy.queue.as_deref().unwrap_or_default();
    format!("the LocalQueue `{name}` of spec.placement.queueName")
}

/// Command that shows the Workload that Kueue has created for a Job.
fn workload(job: &JobState) -> String {
    format!(
        "kubectl describe workload --selector kueue.x-k8s.io/job-uid={}",
        job.uid
    )
}

/// Returns why a gang of `workers` workers has not started yet: the most severe problem among its `pods`.
pub(super) fn for_start(pods: &[&PodState], workers: u32) -> Waiting {
    if let Some((pod, message)) = pods
        .iter()
        .find_map(|pod| Some((pod, pod.unschedulable.as_ref()?)))
    {
        let remedy = match message.contains("device class") {
            true => {
                ". Check the deviceClassName of each request in spec.resources.claims and in the claims of the variants"
            }
            false => "",
        };
        return Waiting::new(
            Reason::Unschedulable,
            format!("pod {}: {message}{remedy}", pod.name),
        );
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
