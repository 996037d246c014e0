//! Classifies why a pod cannot continue: because of an external disruption or because the pod itself failed. Performs
//! no I/O.

use std::time::Duration;

use jiff::Timestamp;

use super::outcome::AttemptOutcome;
use crate::run_controller::observed::{ContainerReason, ContainerTermination, PodPhase, PodState};
use crds::v1alpha1::Reason;

/// Time for which the kubelet may retry pulling an image or creating a container before the attempt is abandoned. This
/// is enough for its retries after 10, 20 and 40 s.
const KUBELET_RETRY_TIMEOUT: Duration = Duration::from_secs(120);

/// Exit codes of containers killed by SIGKILL or SIGTERM.
const KILL_EXIT_CODES: [i32; 2] = [137, 143];

/// Message about an image in which the runner cannot start.
const NO_LIBC: &str =
    "its image has no glibc, which the runner requires; use an image with glibc 2.17 or newer";

/// Returns the attempt outcome that results from the state of `pod`; `None` if the pod can continue or if its records
/// explain its end.
pub(super) fn classify(pod: &PodState, now: Timestamp) -> Option<AttemptOutcome> {
    kubelet_outcome(pod)
        .or_else(|| disruption_outcome(pod))
        .or_else(|| termination_outcome(pod))
        .or_else(|| waiting_outcome(pod, now))
        .or_else(|| {
            pod.deletion_deadline.map(|_| {
                AttemptOutcome::Disrupted(Reason::PodDeleted, format!("pod {} was deleted", pod.name))
            })
        })
}

/// Returns the outcome if the kubelet terminated or rejected the whole pod.
fn kubelet_outcome(pod: &PodState) -> Option<AttemptOutcome> {
    let status = pod.status_reason.as_ref();
    let status = status.filter(|_| pod.phase == PodPhase::Failed)?;
    let reason = match status.reason.as_str() {
        "Evicted" => Reason::Evicted,
        "Preempting" | "Preempted" => Reason::Preempted,
        "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" => Reason::NodeLost,
        _ => Reason::KubeletRejected,
    };
    Some(AttemptOutcome::Disrupted(reason, describe(pod, status)))
}

/// Returns the outcome if the `DisruptionTarget` condition shows that the cluster is terminating the pod.
fn disruption_outcome(pod: &PodState) -> Option<AttemptOutcome> {
    let disruption = pod.disruption.as_ref()?;
    let reason = match disruption.reason.as_str() {
        "PreemptionByScheduler" | "PreemptionByKubeScheduler" => Reason::Preempted,
        "DeletionByTaintManager" | "DeletionByPodGC" => Reason::NodeLost,
        _ => Reason::Evicted,
    };
    Some(AttemptOutcome::Disrupted(reason, describe(pod, disruption)))
}

fn termination_outcome(pod: &PodState) -> Option<AttemptOutcome> {
    if let Some(install) = &pod.install_failure {
        return Some(kill_outcome(pod, install).unwrap_or_else(|| {
            let message = format!(
                "pod {}: the runner or a library could not be copied into the pod: {}",
                pod.name,
                describe_termination(install)
            );
            AttemptOutcome::Failed(Reason::WorkerStartFailed, message)
        }));
    }
    let termination = pod.terminated.as_ref()?;
    let message = || format!("pod {}: {}", pod.name, describe_termination(termination));
    match termination.reason.as_str() {
        "OOMKilled" => Some(AttemptOutcome::Failed(Reason::OomKilled, message())),
        _ if lacks_libc(termination) => Some(AttemptOutcome::Failed(
            Reason::WorkerStartFailed,
            format!(
                "pod {}: {NO_LIBC}: {}",
                pod.name,
                describe_termination(termination)
            ),
        )),
        "StartError" | "ContainerCannotRun" => {
            Some(AttemptOutcome::Failed(Reason::WorkerStartFailed, message()))
        }
        _ => kill_outcome(pod, termination),
    }
}

/// Whether the kernel failed to find the dynamic loader. The error message names the runner instead, but the runner
/// exists, because its installation succeeded.
fn lacks_libc(termination: &ContainerTermination) -> bool {
    let message = termination.message.to_lowercase();
    message.contains("fabricbench-runner") && message.contains("no such file or directory")
}

fn kill_outcome(pod: &PodState, termination: &ContainerTermination) -> Option<AttemptOutcome> {
    let message = || format!("pod {}: {}", pod.name, describe_termination(termination));
    match termination.reason.as_str() {
        "OOMKilled" => None,
        // The node has restarted and lost the container's status.
        "ContainerStatusUnknown" => Some(AttemptOutcome::Disrupted(Reason::NodeLost, message())),
        _ if KILL_EXIT_CODES.contains(&termination.exit_code) => {
            Some(AttemptOutcome::Disrupted(Reason::WorkerKilled, message()))
        }
        _ => None,
    }
}

fn waiting_outcome(pod: &PodState, now: Timestamp) -> Option<AttemptOutcome> {
    let waiting = pod.waiting.as_ref()?;
    match waiting.reason.as_str() {
        "InvalidImageName" | "ErrImageNeverPull" => Some(AttemptOutcome::Failed(
            Reason::InvalidImage,
            describe(pod, waiting),
        )),
        _ if !is_retried_by_kubelet(waiting) || kubelet_retry_deadline(pod)? > now => None,
        _ if is_image_pull_failure(waiting) => Some(AttemptOutcome::Disrupted(
            Reason::ImagePullFailed,
            describe(pod, waiting),
        )),
        _ => Some(AttemptOutcome::Disrupted(
            Reason::ContainerCreationFailed,
            describe(pod, waiting),
        )),
    }
}

/// Whether the kubelet retries the failed operation.
pub(super) fn is_retried_by_kubelet(waiting: &ContainerReason) -> bool {
    // The kubelet reports the same reasons for a slow container runtime and for a container that can never be created.
    let create_failed = matches!(
        waiting.reason.as_str(),
        "CreateContainerError" | "RunContainerError"
    );
    is_image_pull_failure(waiting) || create_failed
}

/// Whether the kubelet failed to pull an image.
pub(super) fn is_image_pull_failure(waiting: &ContainerReason) -> bool {
    matches!(
        waiting.reason.as_str(),
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable"
    )
}

/// Returns the time at which the attempt is abandoned, even while the kubelet is still retrying.
pub(super) fn kubelet_retry_deadline(pod: &PodState) -> Option<Timestamp> {
    pod.scheduled_at?.checked_add(KUBELET_RETRY_TIMEOUT).ok()
}

/// Formats the name and node of `pod`, with the reason and message.
pub(super) fn describe(pod: &PodState, reason: &ContainerReason) -> String {
    let node = pod
        .node
        .as_ref()
        .map_or_else(String::new, |node| format!(" on node {node}"));
    let message = match reason.message.is_empty() {
        true => String::new(),
        false => format!(": {}", reason.message),
    };
    format!("pod {}{node}: {}{message}", pod.name, reason.reason)
}

/// Formats the exit code, reason and message of a terminated container.
pub(super) fn describe_termination(termination: &ContainerTermination) -> String {
    let message = termination.message.trim();
    let message = match message.is_empty() {
        true => String::new(),
        false => format!(": {message}"),
    };
    format!(
        "terminated with exit code {} ({}){message}",
        termination.exit_code, termination.reason
    )
}
