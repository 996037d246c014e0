//! Kubernetes events for a run. An event that announces a condition is published once, after the status with that
//! condition has been written. Performs no I/O.

use crds::v1alpha1::{BenchmarkRunStatus, Condition, ConditionType, Reason};
use kube::runtime::events::{Event, EventType};

/// Conditions that are published as events when they become true, in lifecycle order, with their event types.
const PUBLISHED_CONDITIONS: [(ConditionType, EventType); 5] = [
    (ConditionType::Suspended, EventType::Normal),
    (ConditionType::Running, EventType::Normal),
    (ConditionType::Complete, EventType::Normal),
    (ConditionType::Failed, EventType::Warning),
    (ConditionType::CleanupBlocked, EventType::Warning),
];
/// Maximum length of an event note that the API server accepts, in bytes.
const MAX_NOTE_BYTES: usize = 1024;

/// Returns the events for the conditions that became true between a run's statuses `before` and `after`.
pub(crate) fn between(before: Option<&BenchmarkRunStatus>, after: &BenchmarkRunStatus) -> Vec<Event> {
    let became_true = PUBLISHED_CONDITIONS.iter().filter_map(|(condition, event_type)| {
        let now = true_condition(Some(after), *condition)?;
        true_condition(before, *condition)
            .is_none()
            .then(|| event(now, *event_type))
    });
    became_true.chain(preempted(before, after)).collect()
}

/// Returns the event for a preemption by a queue, which does not change a condition of its own.
fn preempted(before: Option<&BenchmarkRunStatus>, after: &BenchmarkRunStatus) -> Option<Event> {
    let execution = after.execution.as_ref()?;
    let known = before.and_then(|before| before.execution.as_ref());
    if execution.preemptions <= known.map_or(0, |known| known.preemptions) {
        return None;
    }
    let attempt = execution.attempts.last()?;
    let text = format!(
        "leg {}, attempt {}: {}. The missing blocks are measured by the next attempt (preemption {} of this run)",
        attempt.leg,
        attempt.attempt,
        attempt.message.as_deref().unwrap_or_default(),
        execution.preemptions
    );
    Some(Event {
        type_: EventType::Normal,
        reason: Reason::Preempted.to_string(),
        note: Some(note(&text)),
        action: "Retry".to_owned(),
        secondary: None,
    })
}

/// Creates the event for a failed reconciliation, which will be retried.
pub(crate) fn reconcile_failed(reason: &'static str, message: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: reason.to_owned(),
        note: Some(note(message)),
        action: "Reconcile".to_owned(),
        secondary: None,
    }
}

fn true_condition(status: Option<&BenchmarkRunStatus>, type_: ConditionType) -> Option<&Condition> {
    let mut conditions = status?.conditions.iter();
    conditions.find(|condition| condition.has_type(type_) && condition.is_true())
}

fn note(text: &str) -> String {
    let mut note = text.to_owned();
    while note.len() > MAX_NOTE_BYTES {
        note.pop();
    }
    note
}

fn event(condition: &Condition, type_: EventType) -> Event {
    let note = note(&condition.message);
    Event {
        type_,
        reason: condition.reason.clone(),
        note: (!note.is_empty()).then_some(note),
        action: condition.type_.clone(),
        secondary: None,
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{AttemptState, AttemptStatus, ExecutionStatus};

    use super::*;

    fn status(conditions: &[(&str, &str)]) -> BenchmarkRunStatus {
        let condition = |(type_, status): &(&str, &str)| Condition {
            type_: (*type_).to_owned(),
            status: (*status).to_owned(),
            reason: format!("{type_}Reason"),
            message: "é".repeat(1000),
            last_transition_time: String::new(),
            observed_generation: None,
        };
        BenchmarkRunStatus {
            conditions: conditions.iter().map(condition).collect(),
            ..BenchmarkRunStatus::default()
        }
    }

    #[test]
    fn publishes_each_preemption_once() {
        let preempted = |preemptions| BenchmarkRunStatus {
            execution: Some(ExecutionStatus {
                preemptions,
                attempts: vec![AttemptStatus {
                    leg: 2,
                    attempt: 3,
                    state: AttemptState::Disrupted,
                    job_uid: "job".to_owned(),
                    coordinator_pod_uid: None,
                    image_digest: None,
                    started_at: None,
                    finished_at: None,
                    reason: Some("Preempted".to_owned()),
                    message: Some("the queue suspended it".to_owned()),
                }],
                ..ExecutionStatus::default()
            }),
            ..BenchmarkRunStatus::default()
        };
        assert!(between(None, &preempted(0)).is_empty());
        let [event] = &between(Some(&preempted(0)), &preempted(1))[..] else {
            panic!("expected one event")
        };
        let note = event.note.as_deref().unwrap();
        assert_eq!(event.reason, "Preempted");
        assert!(
            note.starts_with("leg 2, attempt 3: the queue suspended it"),
            "{note}"
        );
        assert!(between(Some(&preempted(1)), &preempted(1)).is_empty());
    }

    #[test]
    fn publishes_each_condition_once_when_it_becomes_true() {
        let running = status(&[("Accepted", "True"), ("Running", "True"), ("Failed", "False")]);
        let first = between(None, &running);
        assert_eq!(
            first
                .iter()
                .map(|event| event.reason.as_str())
                .collect::<Vec<_>>(),
            ["RunningReason"]
        );
        assert!(first[0].note.as_ref().unwrap().len() <= MAX_NOTE_BYTES);
        assert!(between(Some(&running), &running).is_empty());
        let failed = status(&[("Running", "False"), ("Failed", "True")]);
        let then = between(Some(&running), &failed);
        assert_eq!(then.len(), 1);
        assert_eq!(
            (then[0].reason.as_str(), then[0].type_),
            ("FailedReason", EventType::Warning)
        );
    }
}
