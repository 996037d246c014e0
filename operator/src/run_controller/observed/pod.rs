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
    fn of(status: &PodStatus) -> Self {
        match status.phase.as_deref() {
            Some("Running") => Self::Running,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            Some("Unknown") => Self::Unknown,
            _ => Self::Pending,
        }
    }

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

    /// Returns the state of `pod` as observed at `now`; `None` if it lacks a label or field that every pod of an attempt
    /// has, or if no Job with the attempt's name controls it. Anyone who can create pods can copy the labels. The times
    /// are limited as in [`PossibleTimes`].
    pub fn from_pod(pod: &Pod, now: Timestamp) -> Option<Self> {
        let metadata = &pod.metadata;
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
        let created = metadata.creation_timestamp.as_ref();
        let since_creation = PossibleTimes {
            earliest: created.map_or(Timestamp::MIN, |time| time.0),
            now,
        };
        let scheduled_at = condition(status, "PodScheduled", "True").and_then(|(_, at)| at);
        let scheduled_at = scheduled_at.map(|at| since_creation.limit(at));
        let times = PossibleTimes {
            earliest: scheduled_at.unwrap_or(since_creation.earliest),
            now,
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
            phase: PodPhase::of(status),
            deletion_deadline: metadata.deletion_timestamp.as_ref().map(|time| time.0),
            waiting: waiting.next(),
            started_at: state.and_then(started_at).map(|at| times.limit(at)),
            terminated: state.and_then(|state| times.termination(state)),
            install_failure: installs
                .filter_map(|container| times.termination(container.state.as_ref()?))
                .find(|terminated| terminated.exit_code != 0),
            disruption: condition(status, "DisruptionTarget", "True").map(|(reason, _)| reason),
            status_reason: status.reason.as_ref().map(|reason| ContainerReason {
                reason: reason.clone(),
                message: text(&status.message),
            }),
            image_digest: worker.and_then(|worker| digest(&worker.image_id)),
        })
    }

    /// Keeps the times in `before`, an earlier state of the same pod, if they are earlier. A time that a fast clock has
    /// reported is limited to the time at which it was first observed; otherwise it would change with every event.
    pub fn keep_times(&mut self, before: &Self) {
        if self.uid != before.uid {
            return;
        }
        keep_earlier(&mut self.scheduled_at, before.scheduled_at);
        keep_earlier(&mut self.started_at, before.started_at);
        for (termination, before) in [
            (&mut self.terminated, &before.terminated),
            (&mut self.install_failure, &before.install_failure),
        ] {
            if let (Some(termination), Some(before)) = (termination, before) {
                keep_earlier(&mut termination.at, before.at);
            }
        }
    }
}

/// Sets `time` to `before` if both are known and `before` is earlier.
fn keep_earlier(time: &mut Option<Timestamp>, before: Option<Timestamp>) {
    *time = time.map(|time| before.map_or(time, |before| before.min(time)));
}

/// Limits for the times that the scheduler and a kubelet report for a pod. Their clocks can be wrong, and no deadline may
/// depend on them.
struct PossibleTimes {
    /// When the pod was scheduled, or created if it was not scheduled.
    earliest: Timestamp,
    /// When the pod is observed.
    now: Timestamp,
}

impl PossibleTimes {
    fn limit(&self, at: Timestamp) -> Timestamp {
        at.min(self.now).max(self.earliest)
    }

    /// Returns the termination in `state`. The container ends at least as long after the earliest possible time as it ran,
    /// because its kubelet measures both times with the same clock.
    fn termination(&self, state: &ContainerState) -> Option<ContainerTermination> {
        let terminated = termination(state)?;
        let ran = |at: Timestamp| at.duration_since(started_at(state).unwrap_or(at));
        let ends_at = |at: Timestamp| {
            let end = self.earliest.checked_add(ran(at));
            end.map_or(at, |end| at.max(end))
        };
        Some(ContainerTermination {
            at: terminated.at.map(|at| self.limit(ends_at(at))),
            ..terminated
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
