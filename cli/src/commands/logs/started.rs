//! Checks whether a pod's worker has started. The pod's log is not available until then. Performs no I/O.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use operator::run_controller::observed::PodState;

/// Checks whether the worker of `pod` has started.
///
/// # Errors
/// Returns an error if the worker has not started. The error describes why.
pub(super) fn check_started(pod: &Pod) -> Result<(), String> {
    // The times of the pod are not used.
    let Some(state) = PodState::from_pod(pod, Timestamp::MAX) else {
        return Err("it does not belong to an attempt".to_owned());
    };
    if state.started_at.is_some() || state.terminated.is_some() {
        return Ok(());
    }
    let unschedulable = state.unschedulable.map(|why| format!("Unschedulable: {why}"));
    let container = state.status_reason.or(state.waiting);
    let container = container.map(|state| match state.message.as_str() {
        "" => state.reason,
        message => format!("{}: {message}", state.reason),
    });
    let why = container.or(unschedulable);
    Err(why.unwrap_or_else(|| format!("{:?}", state.phase)))
}

#[cfg(test)]
mod tests {
    use crds::names;
    use operator::run_controller::attempt_id::AttemptId;
    use operator::run_controller::build::{self, WORKER_CONTAINER};
    use serde_json::{Value, json};

    use super::*;

    fn pod(state: Value) -> Pod {
        let container = json!({
            "name": WORKER_CONTAINER, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state
        });
        let job = build::names::attempt("6", AttemptId { leg: 0, attempt: 1 });
        let labels = json!({
            names::LABEL_RUN_UID: "6", names::LABEL_LEG: "0", names::LABEL_ATTEMPT: "1", "batch.kubernetes.io/job-completion-index": "0"
        });
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "8", "controller": true
        });
        let pod = json!({
            "metadata": {"name": "run-0-1-0", "uid": "7", "labels": labels, "ownerReferences": [owner]},
            "status": {"phase": "Pending", "containerStatuses": [container]},
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn reports_why_a_container_is_waiting() {
        let creating = pod(json!({"waiting": {"reason": "ContainerCreating"}}));
        assert_eq!(check_started(&creating), Err("ContainerCreating".to_owned()));
        let pulling = pod(json!({"waiting": {"reason": "ImagePullBackOff", "message": "back-off"}}));
        assert_eq!(
            check_started(&pulling),
            Err("ImagePullBackOff: back-off".to_owned())
        );
        let running = pod(json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
        assert_eq!(check_started(&running), Ok(()));
        assert_eq!(check_started(&pod(json!({}))), Err("Pending".to_owned()));
    }
}
