//! What a run waits for or why it ended early, by its status. Pure.

use crds::v1alpha1::{BenchmarkRun, ConditionType, State};

/// The state of `run` with its reason, in a sentence; nothing where it runs or is complete.
pub(super) fn standing(run: &BenchmarkRun) -> Option<String> {
    let status = run.status.as_ref();
    let condition = match status.and_then(|status| status.state) {
        None => return Some("Pending: no operator has taken it up yet".to_owned()),
        Some(State::Running | State::Complete) => return None,
        Some(State::Pending) => ConditionType::Running,
        Some(State::Suspended) => ConditionType::Suspended,
        Some(State::Failed) => ConditionType::Failed,
    };
    let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
    let condition = conditions.find(|one| one.has_type(condition));
    let state = status.and_then(|status| status.state)?;
    Some(match condition {
        Some(said) if said.message.is_empty() => format!("{state:?}: {}", said.reason),
        Some(said) if said.reason == format!("{state:?}") => format!("{state:?}: {}", said.message),
        Some(said) => format!("{state:?}: {}: {}", said.reason, said.message),
        None => format!("{state:?}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(status: Value) -> BenchmarkRun {
        let text = include_str!("../../../examples/demo.yaml");
        let mut run = crate::manifest::parse(text, None).unwrap().swap_remove(0);
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
    fn a_run_that_waits_says_for_what() {
        let nodes = condition("Running", "InsufficientNodes", "2 nodes are asked for");
        let waits = run(json!({"state": "Pending", "conditions": [nodes]}));
        assert_eq!(
            standing(&waits).as_deref(),
            Some("Pending: InsufficientNodes: 2 nodes are asked for")
        );
        let failed = condition("Failed", "WorkerFailed", "");
        let failed = run(json!({"state": "Failed", "conditions": [failed]}));
        assert_eq!(standing(&failed).as_deref(), Some("Failed: WorkerFailed"));
        assert_eq!(standing(&run(json!({"state": "Running"}))), None);
        assert!(standing(&run(Value::Null)).is_some());
    }
}
