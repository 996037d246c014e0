//! Summary of the state of a run that is neither running nor complete. Performs no I/O.

use crds::v1alpha1::{BenchmarkRun, ConditionType, State};

/// State of `run` with its reason and message, or `None` if it is running or complete.
pub(super) fn state_summary(run: &BenchmarkRun) -> Option<String> {
    let status = run.status.as_ref();
    let condition = match status.and_then(|status| status.state) {
        None => return Some("Pending: no operator has reconciled the run yet".to_owned()),
        Some(State::Running | State::Complete) => return None,
        Some(State::Pending) => ConditionType::Running,
        Some(State::Suspended) => ConditionType::Suspended,
        Some(State::Failed) => ConditionType::Failed,
    };
    let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
    let condition = conditions.find(|candidate| candidate.has_type(condition));
    let state = status.and_then(|status| status.state)?;
    Some(match condition {
        Some(condition) if condition.message.is_empty() => format!("{state:?}: {}", condition.reason),
        Some(condition) if condition.reason == format!("{state:?}") => {
            format!("{state:?}: {}", condition.message)
        }
        Some(condition) => format!("{state:?}: {}: {}", condition.reason, condition.message),
        None => format!("{state:?}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(status: Value) -> BenchmarkRun {
        let text = include_str!("../../../examples/demo.yaml");
        let mut run = manifest::parse(text, None).unwrap().swap_remove(0);
        run.status = serde_json::from_value(status).unwrap();
        run
    }

    fn condition(kind: &str, reason: &str, message: &str) -> Value {
        json!({
            "type": kind, "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"
        })
    }

    #[test]
    fn summarizes_waiting_and_failed_runs() {
        let nodes = condition("Running", "InsufficientNodes", "2 nodes are requested");
        let waits = run(json!({"state": "Pending", "conditions": [nodes]}));
        assert_eq!(
            state_summary(&waits).as_deref(),
            Some("Pending: InsufficientNodes: 2 nodes are requested")
        );
        let failed = condition("Failed", "WorkerFailed", "");
        let failed = run(json!({"state": "Failed", "conditions": [failed]}));
        assert_eq!(state_summary(&failed).as_deref(), Some("Failed: WorkerFailed"));
        assert_eq!(state_summary(&run(json!({"state": "Running"}))), None);
        assert!(state_summary(&run(Value::Null)).is_some());
    }
}
