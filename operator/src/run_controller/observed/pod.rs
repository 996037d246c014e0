//! Fields of a pod that decisions depend on. Performs no I/O.

use campaign::format::clipped;
use crds::names;
use crds::v1alpha1::AttemptStatus;
use jiff::Timestamp;
use k8s_openapi::Resource as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod, PodStatus};

use super::JobState;
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::build;

/// Label that holds the completion index of an Indexed Job's pod.
const LABEL_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Maximum length of a reason or message, in characters. Termination messages are shorter.
const MAX_TEXT: usize = 5000;

/// State of a pod that belongs to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodState {
    /// Leg and attempt number.
    pub attempt: AttemptId,
    /// Rank of the worker.
    pub rank: u32,
    /// UID of the Job that controls the pod.
    pub job_uid: String,
    /// Name of the pod.
    pub name: String,
    /// UID of the pod.
    pub uid: String,
    /// Node of the pod, once it is scheduled.
    pub node: Option<String>,
    /// Time at which the pod was scheduled.
    pub scheduled_at: Option<Timestamp>,
    /// Scheduler message if no node was found for the pod.
    pub unschedulable: Option<String>,
    /// Phase of the pod.
    pub phase: PodPhase,
    /// If the pod is being deleted, the time at which its grace period ends.
    pub deletion_deadline: Option<Timestamp>,
    /// Why the first waiting container is waiting.
    pub waiting: Option<ContainerReason>,
    /// Time at which the worker started.
    pub started_at: Option<Timestamp>,
    /// Termination of the worker's container.
    pub terminated: Option<ContainerTermination>,
    /// Termination of the container that installs the runner, if the installation failed.
    pub install_failure: Option<ContainerTermination>,
    /// The `DisruptionTarget` condition.
    pub disruption: Option<ContainerReason>,
    /// Reason and message of the pod status, which the kubelet sets if it terminates or rejects the pod.
    pub status_reason: Option<ContainerReason>,
    /// Digest of the worker's image as reported by the kubelet.
    pub image_digest: Option<String>,
}

/// Phase of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PodPhase {
    /// Some containers have not started.
    Pending,
    /// The containers are running.
    Running,
    /// All containers succeeded.
    Succeeded,
    /// A container failed.
    Failed,
    /// The node is unreachable.
    Unknown,
}

impl PodPhase {
    /// Whether no container of the pod will run again.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// Reason and message of a container state, a pod condition or a pod status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerReason {
    /// The reason, a CamelCase identifier.
    pub reason: String,
    /// The message; may be empty.
    pub message: String,
}

/// Termination of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerTermination {
    /// Exit code; 128 plus the signal number if a signal killed the container.
    pub exit_code: i32,
    /// Reason reported by the kubelet, such as `OOMKilled`.
    pub reason: String,
    /// The container's termination message, or the message reported by the kubelet.
    pub message: String,
    /// Time at which the container terminated.
    pub at: Option<Timestamp>,
}

impl PodState {
    /// Creates the state of a pod that was just created.
    #[cfg(test)]
    pub(in crate::run_controller) fn new(
        attempt: AttemptId,
        job_uid: &str,
        rank: u32,
        name: &str,
        uid: &str,
    ) -> Self {
        Self {
            attempt,
            rank,
            job_uid: job_uid.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            node: None,
            scheduled_at: None,
            unschedulable: None,
            phase: PodPhase::Pending,
            deletion_deadline: None,
            waiting: None,
            started_at: None,
            terminated: None,
            install_failure: None,
            disruption: None,
            status_reason: None,
            image_digest: None,
        }
    }

    /// Whether one of the run's Jobs controls the pod: one of `jobs`, or the Job of a recorded attempt, which may be gone.
    pub fn is_of_run(&self, jobs: &[JobState], attempts: &[AttemptStatus]) -> bool {
        let mut jobs = jobs.iter().map(|job| &job.uid);
        let mut attempts = attempts.iter().map(|attempt| &attempt.job_uid);
        jobs.any(|uid| *uid == self.job_uid) || attempts.any(|uid| *uid == self.job_uid)
    }

    /// Returns the state of `pod` as observed at `now`; `None` if it lacks a label or field that every pod of an attempt has, or if no Job
    /// with the attempt's name controls it. Anyone who can create pods can copy the labels.
    ///
    /// The clock of a node can be wrong. The times that the scheduler and a kubelet report are limited to the time from the
    /// creation of the pod until now, so that no deadline depends on a node's clock. A container ends at least as long after
    /// this limit as it ran, because its kubelet measures both times with the same clock.
    pub fn from_pod(pod: &Pod, now: Timestamp) -> Option<Self> {
        let metadata = &pod.metadata;
        let created = metadata
            .creation_timestamp
            .as_ref()
            .map_or(Timestamp::MIN, |time| time.0);
        let label = |name: &str| metadata.labels.as_ref()?.get(name)?.parse().ok();
        let attempt = AttemptId {
            leg: label(names::LABEL_LEG)?,
            attempt: label(names::LABEL_ATTEMPT)?,
        };
        let run_uid = metadata.labels.as_ref()?.get(names::LABEL_RUN_UID)?;
        let job = build::names::attempt(run_uid, attempt);
        let mut owners = metadata.owner_references.iter().flatten();
        let controller = owners.find(|owner| owner.controller == Some(true))?;
        if (controller.kind.as_str(), &controller.name) != (Job::KIND, &job) {
            return None;
        }
        let none = PodStatus::default();
        let status = pod.status.as_ref().unwrap_or(&none);
        let scheduled_at = condition(status, "PodScheduled", "True").and_then(|(_, at)| at);
        let scheduled_at = scheduled_at.map(|at| at.max(created).min(now));
        let earliest = scheduled_at.unwrap_or(created);
        let termination = |state: &ContainerState| {
            let terminated = termination(state)?;
            let ran = |at: Timestamp| at.duration_since(started_at(state).unwrap_or(at));
            let ends_at = |at: Timestamp| earliest.checked_add(ran(at)).map_or(at, |end| at.max(end));
            Some(ContainerTermination {
                at: terminated.at.map(|at| ends_at(at).max(earliest).min(now)),
                ..terminated
            })
        };
        let worker = status
            .container_statuses
            .iter()
            .flatten()
            .find(|container| container.name == build::WORKER_CONTAINER);
        let installs = status.init_container_statuses.iter().flatten();
        let state = worker.and_then(|worker| worker.state.as_ref());
        let mut waiting = installs.clone().chain(worker).filter_map(waiting_reason);
        Some(Self {
            attempt,
            rank: label(LABEL_INDEX)?,
            job_uid: controller.uid.clone(),
            name: metadata.name.clone()?,
            uid: metadata.uid.clone()?,
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            scheduled_at,
            unschedulable: condition(status, "PodScheduled", "False")
                .map(|(reason, _)| reason)
                .filter(|reason| reason.reason == "Unschedulable")
                .map(|reason| reason.message),
            phase: match status.phase.as_deref() {
                Some("Running") => PodPhase::Running,
                Some("Succeeded") => PodPhase::Succeeded,
                Some("Failed") => PodPhase::Failed,
                Some("Unknown") => PodPhase::Unknown,
                _ => PodPhase::Pending,
            },
            deletion_deadline: metadata.deletion_timestamp.as_ref().map(|time| time.0),
            waiting: waiting.next(),
            started_at: state.and_then(started_at).map(|at| at.max(earliest).min(now)),
            terminated: state.and_then(termination),
            install_failure: installs
                .filter_map(|container| termination(container.state.as_ref()?))
                .find(|terminated| terminated.exit_code != 0),
            disruption: condition(status, "DisruptionTarget", "True").map(|(reason, _)| reason),
            status_reason: status.reason.as_ref().map(|reason| ContainerReason {
                reason: reason.clone(),
                message: text(&status.message),
            }),
            image_digest: worker.and_then(|worker| digest(&worker.image_id)),
        })
    }
}

fn text(text: &Option<String>) -> String {
    text.as_ref()
        .map_or_else(String::new, |text| clipped(text, MAX_TEXT))
}

/// Returns the reason and transition time of the `type_` condition, if its status is `expected`.
fn condition(
    status: &PodStatus,
    type_: &str,
    expected: &str,
) -> Option<(ContainerReason, Option<Timestamp>)> {
    let mut conditions = status.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == type_ && condition.status == expected)?;
    let reason = ContainerReason {
        reason: text(&condition.reason),
        message: text(&condition.message),
    };
    Some((reason, condition.last_transition_time.as_ref().map(|time| time.0)))
}

fn waiting_reason(container: &ContainerStatus) -> Option<ContainerReason> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    Some(ContainerReason {
        reason: text(&waiting.reason),
        message: text(&waiting.message),
    })
}

fn started_at(state: &ContainerState) -> Option<Timestamp> {
    let running = state
        .running
        .as_ref()
        .and_then(|running| running.started_at.as_ref());
    let terminated = || state.terminated.as_ref()?.started_at.as_ref();
    running.or_else(terminated).map(|time| time.0)
}

fn termination(state: &ContainerState) -> Option<ContainerTermination> {
    let terminated = state.terminated.as_ref()?;
    Some(ContainerTermination {
        exit_code: terminated.exit_code,
        reason: text(&terminated.reason),
        message: text(&terminated.message),
        at: terminated.finished_at.as_ref().map(|time| time.0),
    })
}

/// Returns the digest `sha256:…` in an image ID, which has the form `NAME@sha256:…` or `sha256:…`.
fn digest(image_id: &str) -> Option<String> {
    let start = image_id.find("sha256:")?;
    image_id.get(start..).map(|digest| clipped(digest, 80))
}
