//! Why a pod does not go on: whether something outside of the measurement stopped it, or it failed by itself. Pure.

use std::time::Duration;

use jiff::Timestamp;

use super::attempt::Ended;
use crate::run_controller::observed::{ContainerEnd, PodPhase, PodState, Told};
use crds::v1alpha1::Reason;

/// How long a node may try again to pull an image or to make a container before the attempt is given up: its own retries
/// come at 10, 20, 40 s.
const NODE_PATIENCE: Duration = Duration::from_secs(120);

/// Exit status of what SIGKILL and SIGTERM end.
const KILLED: [i32; 2] = [137, 143];

/// What an image lacks in which the runner does not start.
const NO_LIBC: &str = "its image has no glibc, which the runner needs. Use an image with glibc 2.17 or newer";

/// Why `pod` does not go on; `None` where it does, or has ended in a way that it explains itself.
pub(super) fn of(pod: &PodState, now: Timestamp) -> Option<Ended> {
    by_the_node(pod)
        .or_else(|| disrupted(pod))
        .or_else(|| ended(pod))
        .or_else(|| waits(pod, now))
        .or_else(|| {
            pod.gone_by
                .map(|_| Ended::Disrupted(Reason::PodDeleted, format!("pod {} was deleted", pod.name)))
        })
}

/// The kubelet ended or refused the pod as a whole.
fn by_the_node(pod: &PodState) -> Option<Ended> {
    let told = pod.refused.as_ref().filter(|_| pod.phase == PodPhase::Failed)?;
    let reason = match told.reason.as_str() {
        "Evicted" => Reason::Evicted,
        "Preempting" | "Preempted" => Reason::Preempted,
        "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" => Reason::NodeLost,
        _ => Reason::KubeletRejected,
    };
    Some(Ended::Disrupted(reason, words(pod, told)))
}

/// The condition that says that the cluster, not the pod, ends it.
fn disrupted(pod: &PodState) -> Option<Ended> {
    let told = pod.disruption.as_ref()?;
    let reason = match told.reason.as_str() {
        "PreemptionByScheduler" | "PreemptionByKubeScheduler" => Reason::Preempted,
        "DeletionByTaintManager" | "DeletionByPodGC" => Reason::NodeLost,
        _ => Reason::Evicted,
    };
    Some(Ended::Disrupted(reason, words(pod, told)))
}

fn ended(pod: &PodState) -> Option<Ended> {
    if let Some(end) = &pod.install_failed {
        return Some(killed(pod, end).unwrap_or_else(|| {
            let message = format!("pod {}: the runner could not be brought: {}", pod.name, how(end));
            Ended::Failed(Reason::WorkerStartFailed, message)
        }));
    }
    let end = pod.ended.as_ref()?;
    let failed = |reason| Some(Ended::Failed(reason, format!("pod {}: {}", pod.name, how(end))));
    match end.reason.as_str() {
        "OOMKilled" => failed(Reason::OomKilled),
        _ if lacks_libc(end) => Some(Ended::Failed(
            Reason::WorkerStartFailed,
            format!("pod {}: {NO_LIBC}: {}", pod.name, how(end)),
        )),
        "StartError" | "ContainerCannotRun" => failed(Reason::WorkerStartFailed),
        _ => killed(pod, end),
    }
}

/// Whether the kernel did not find what loads a program: the runner itself is there, or the pod would not have come so far.
fn lacks_libc(end: &ContainerEnd) -> bool {
    let message = end.message.to_lowercase();
    message.contains("fabricbench-runner") && message.contains("no such file or directory")
}

fn killed(pod: &PodState, end: &ContainerEnd) -> Option<Ended> {
    let message = || format!("pod {}: {}", pod.name, how(end));
    match end.reason.as_str() {
        "OOMKilled" => None,
        // The node came back without knowing what became of it.
        "ContainerStatusUnknown" => Some(Ended::Disrupted(Reason::NodeLost, message())),
        _ if KILLED.contains(&end.exit_code) => Some(Ended::Disrupted(Reason::WorkerKilled, message())),
        _ => None,
    }
}

fn waits(pod: &PodState, now: Timestamp) -> Option<Ended> {
    let told = pod.waiting.as_ref()?;
    match told.reason.as_str() {
        "InvalidImageName" | "ErrImageNeverPull" => {
            Some(Ended::Failed(Reason::InvalidImage, words(pod, told)))
        }
        _ if !is_retried(told) || retried_until(pod)? > now => None,
        _ if is_pull(told) => Some(Ended::Disrupted(Reason::ImagePullFailed, words(pod, told))),
        _ => Some(Ended::Disrupted(
            Reason::ContainerCreationFailed,
            words(pod, told),
        )),
    }
}

/// Whether the node tries again what it could not do.
pub(super) fn is_retried(told: &Told) -> bool {
    // A node that is short of time says of its container runtime what it would say of a container that cannot be made.
    is_pull(told) || matches!(told.reason.as_str(), "CreateContainerError" | "RunContainerError")
}

/// Whether the node has failed to pull an image.
pub(super) fn is_pull(told: &Told) -> bool {
    matches!(
        told.reason.as_str(),
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable"
    )
}

/// When what the node tries again is given up.
pub(super) fn retried_until(pod: &PodState) -> Option<Timestamp> {
    pod.scheduled_at?.checked_add(NODE_PATIENCE).ok()
}

/// What the cluster said of `pod`, with its name and node.
pub(super) fn words(pod: &PodState, told: &Told) -> String {
    let node = pod
        .node
        .as_ref()
        .map_or_else(String::new, |node| format!(" on node {node}"));
    let message = match told.message.is_empty() {
        true => String::new(),
        false => format!(": {}", told.message),
    };
    format!("pod {}{node}: {}{message}", pod.name, told.reason)
}

/// How a container ended, in a few words.
pub(super) fn how(end: &ContainerEnd) -> String {
    let message = end.message.trim();
    let message = match message.is_empty() {
        true => String::new(),
        false => format!(": {message}"),
    };
    format!("ended with status {} ({}){message}", end.exit_code, end.reason)
}
