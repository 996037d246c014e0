//! Whether the worker of a pod has begun, so that there is a log of it. Pure.

use k8s_openapi::api::core::v1::Pod;

use crate::run_controller::observed::PodState;

/// Whether the worker of `pod` has begun.
///
/// # Errors
/// What it waits for, or why it never will, where it has not.
pub(super) fn started(pod: &Pod) -> Result<(), String> {
    let Some(state) = PodState::from_pod(pod) else {
        return Err("it is no pod of an attempt".to_owned());
    };
    if state.started_at.is_some() || state.terminated.is_some() {
        return Ok(());
    }
    let unschedulable = state.unschedulable.map(|why| format!("Unschedulable: {why}"));
    let told = state.status_reason.or(state.waiting);
    let told = told.map(|told| match told.message.as_str() {
        "" => told.reason,
        message => format!("{}: {message}", told.reason),
    });
    let why = told.or(unschedulable);
    Err(why.unwrap_or_else(|| format!("{:?}", state.phase)))
}

#[cfg(test)]
mod tests {
    use crds::names;
    use serde_json::{Value, json};

    use super::*;
    use crate::run_controller::build::WORKER_CONTAINER;

    fn pod(state: Value) -> Pod {
        let container = json!({
            "name": WORKER_CONTAINER, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state
        });
        let labels = json!({
            names::LABEL_LEG: "0", names::LABEL_ATTEMPT: "1", "batch.kubernetes.io/job-completion-index": "0"
        });
        let pod = json!({
            "metadata": {"name": "run-0-1-0", "uid": "7", "labels": labels},
            "status": {"phase": "Pending", "containerStatuses": [container]},
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_container_that_waits_says_for_what() {
        let creating = pod(json!({"waiting": {"reason": "ContainerCreating"}}));
        assert_eq!(started(&creating), Err("ContainerCreating".to_owned()));
        let pulling = pod(json!({"waiting": {"reason": "ImagePullBackOff", "message": "back-off"}}));
        assert_eq!(started(&pulling), Err("ImagePullBackOff: back-off".to_owned()));
        let running = pod(json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
        assert_eq!(started(&running), Ok(()));
        assert_eq!(started(&pod(json!({}))), Err("Pending".to_owned()));
    }
}
