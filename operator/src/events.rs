//! Kubernetes events for a run. An event that announces a condition is published once, after the status with that
//! condition has been written. Performs no I/O.

use crds::printable::printable;
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
/// Note of the event for a preemption by a queue.
const PREEMPTION_NOTE: &str = "the queue preempted the gang: it suspended the Job after admitting it. The next attempt \
                               measures the missing blocks; status.execution.preemptions counts the preemptions";
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

/// Returns the event for a preemption by a queue, which does not change a condition of its own. Repeated
/// preemptions are counted in one event, which keeps the note of the first.
fn preempted(before: Option<&BenchmarkRunStatus>, after: &BenchmarkRunStatus) -> Option<Event> {
    let execution = after.execution.as_ref()?;
    let known = before.and_then(|before| before.execution.as_ref());
    if execution.preemptions <= known.map_or(0, |known| known.preemptions) {
        return None;
    }
    Some(Event {
        type_: EventType::Normal,
        reason: Reason::Preempted.to_string(),
        note: Some(PREEMPTION_NOTE.to_owned()),
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
    let mut note = printable(text).into_owned();
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
    use crds::v1alpha1::ExecutionStatus;

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
                ..ExecutionStatus::default()
            }),
            ..BenchmarkRunStatus::default()
        };
        assert!(between(None, &preempted(0)).is_empty());
        let [event] = &between(Some(&preempted(0)), &preempted(1))[..] else {
            panic!("expected one event")
        };
        assert_eq!(event.reason, "Preempted");
        assert!(event.note.as_ref().unwrap().len() <= MAX_NOTE_BYTES);
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
