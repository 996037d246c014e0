//! A pod of a run, as far as a decision looks at it. Pure.

use crds::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod, PodStatus};

use super::AttemptId;
use crate::campaign::format::clipped;

/// Label of an Indexed Job's pods with their index.
const LABEL_INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Longest text that is taken over, in characters: a termination message with room to spare.
const MAX_TEXT: usize = 5000;

/// A pod of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodState {
    /// Which leg and attempt it belongs to.
    pub attempt: AttemptId,
    /// Rank of its worker.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its node, once it was scheduled.
    pub node: Option<String>,
    /// When it was scheduled.
    pub scheduled_at: Option<Timestamp>,
    /// Why the scheduler finds no place, in its words.
    pub unschedulable: Option<String>,
    /// How far it is.
    pub phase: PodPhase,
    /// When it should be gone at the latest, where it is being deleted.
    pub gone_by: Option<Timestamp>,
    /// What a container waits for, the first that does.
    pub waiting: Option<Told>,
    /// When the worker started.
    pub started_at: Option<Timestamp>,
    /// How the worker ended.
    pub ended: Option<ContainerEnd>,
    /// How bringing the runner into the image failed.
    pub install_failed: Option<ContainerEnd>,
    /// Who disrupts it, and why.
    pub disruption: Option<Told>,
    /// Why the node's kubelet ended or refused it.
    pub refused: Option<Told>,
    /// Digest of the worker's image, as the node reports it.
    pub image_digest: Option<String>,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PodPhase {
    /// Its containers do not run yet.
    Pending,
    /// They run.
    Running,
    /// They ended well.
    Succeeded,
    /// They did not.
    Failed,
    /// Its node does not answer.
    Unknown,
}

impl PodPhase {
    /// Whether no container of it will ever run again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// A word and a sentence of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The word.
    pub reason: String,
    /// The sentence; may be empty.
    pub message: String,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerEnd {
    /// Its exit status; 128 and the signal's number where one killed it.
    pub exit_code: i32,
    /// The kubelet's word, such as `OOMKilled`.
    pub reason: String,
    /// What it left in its termination message, or the kubelet's words.
    pub message: String,
    /// When.
    pub at: Option<Timestamp>,
}

impl PodState {
    /// A pod of which nothing is known but that it was created.
    #[cfg(test)]
    pub(in crate::run_controller) fn created(
        attempt: AttemptId,
        rank: u32,
        name: String,
        uid: String,
    ) -> Self {
        Self {
            attempt,
            rank,
            name,
            uid,
            node: None,
            scheduled_at: None,
            unschedulable: None,
            phase: PodPhase::Pending,
            gone_by: None,
            waiting: None,
            started_at: None,
            ended: None,
            install_failed: None,
            disruption: None,
            refused: None,
            image_digest: None,
        }
    }

    /// The pod of an attempt that `pod` is; `None` where it lacks what every pod of an attempt has.
    pub fn of(pod: &Pod) -> Option<Self> {
        let metadata = &pod.metadata;
        let label = |name: &str| metadata.labels.as_ref()?.get(name)?.parse().ok();
        let none = PodStatus::default();
        let status = pod.status.as_ref().unwrap_or(&none);
        let worker = status
            .container_statuses
            .iter()
            .flatten()
            .find(|container| container.name == crate::run_controller::build::WORKER_CONTAINER);
        let installs = status.init_container_statuses.iter().flatten();
        let state = worker.and_then(|worker| worker.state.as_ref());
        let mut waiting = installs.clone().chain(worker).filter_map(waiting);
        Some(Self {
            attempt: AttemptId {
                leg: label(names::LABEL_LEG)?,
                attempt: label(names::LABEL_ATTEMPT)?,
            },
            rank: label(LABEL_INDEX)?,
            name: metadata.name.clone()?,
            uid: metadata.uid.clone()?,
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            scheduled_at: condition(status, "PodScheduled", "True").and_then(|(_, at)| at),
            unschedulable: condition(status, "PodScheduled", "False")
                .map(|(told, _)| told)
                .filter(|told| told.reason == "Unschedulable")
                .map(|told| told.message),
            phase: match status.phase.as_deref() {
                Some("Running") => PodPhase::Running,
                Some("Succeeded") => PodPhase::Succeeded,
                Some("Failed") => PodPhase::Failed,
                Some("Unknown") => PodPhase::Unknown,
                _ => PodPhase::Pending,
            },
            gone_by: metadata.deletion_timestamp.as_ref().map(|time| time.0),
            waiting: waiting.next(),
            started_at: state.and_then(started_at),
            ended: state.and_then(ended),
            install_failed: installs
                .filter_map(|container| ended(container.state.as_ref()?))
                .find(|end| end.exit_code != 0),
            disruption: condition(status, "DisruptionTarget", "True").map(|(told, _)| told),
            refused: status.reason.as_ref().map(|reason| Told {
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

fn condition(status: &PodStatus, type_: &str, is: &str) -> Option<(Told, Option<Timestamp>)> {
    let mut conditions = status.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == type_ && condition.status == is)?;
    let told = Told {
        reason: text(&condition.reason),
        message: text(&condition.message),
    };
    Some((told, condition.last_transition_time.as_ref().map(|time| time.0)))
}

fn waiting(container: &ContainerStatus) -> Option<Told> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    Some(Told {
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

fn ended(state: &ContainerState) -> Option<ContainerEnd> {
    let terminated = state.terminated.as_ref()?;
    Some(ContainerEnd {
        exit_code: terminated.exit_code,
        reason: text(&terminated.reason),
        message: text(&terminated.message),
        at: terminated.finished_at.as_ref().map(|time| time.0),
    })
}

/// `sha256:…` of an image ID, which runtimes write as `NAME@sha256:…` or `sha256:…`.
fn digest(image_id: &str) -> Option<String> {
    let start = image_id.find("sha256:")?;
    image_id.get(start..).map(|digest| clipped(digest, 80))
}
