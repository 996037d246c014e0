//! Kubernetes events for a run. An event that announces a condition is published once, after the status with that
//! condition has been written. Performs no I/O.

use crds::printable::printable_on_one_line;
use crds::v1alpha1::{BenchmarkRunStatus, Condition, ConditionType, ExecutionStatus, Reason};
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
/// Note of the event for a lost place.
const LOST_PLACE_NOTE: &str = "the gang did not start while other runs were waiting for its nodes, and lost its place. It \
                               gets another turn at the time in status.execution.retryAt; \
                               status.execution.attempts says what it was waiting for";
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
    became_true.chain(repeated(before, after)).collect()
}

/// Returns the events for a preemption by a queue and for a lost place, which do not change a condition of their own.
/// Repeated ones are counted in one event, which keeps the note of the first.
fn repeated(before: Option<&BenchmarkRunStatus>, after: &BenchmarkRunStatus) -> Vec<Event> {
    let none = ExecutionStatus::default();
    let execution = |status: Option<&BenchmarkRunStatus>| {
        let execution = status.and_then(|status| status.execution.as_ref());
        execution.unwrap_or(&none).clone()
    };
    let (before, after) = (execution(before), execution(Some(after)));
    // A disruption before the start of a gang is counted as a lost place as well.
    let last = after
        .attempts
        .last()
        .and_then(|attempt| attempt.reason.as_deref());
    let lost_place = last == Some(Reason::PlaceLost.as_str()) && after.lost_places > before.lost_places;
    let preempted = after.preemptions > before.preemptions;
    let event = |reason: Reason, note: &str| Event {
        type_: EventType::Normal,
        reason: reason.to_string(),
        note: Some(note.to_owned()),
        action: "Retry".to_owned(),
        secondary: None,
    };
    let preempted = preempted.then(|| event(Reason::Preempted, PREEMPTION_NOTE));
    let lost_place = lost_place.then(|| event(Reason::PlaceLost, LOST_PLACE_NOTE));
    preempted.into_iter().chain(lost_place).collect()
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
    let mut note = printable_on_one_line(text);
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
    use crds::v1alpha1::{AttemptState, AttemptStatus};

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
    fn publishes_each_preemption_and_each_lost_place_once() {
        let repeated = |preemptions, lost_places, reason: &str| BenchmarkRunStatus {
            execution: Some(ExecutionStatus {
                preemptions,
                lost_places,
                attempts: vec![AttemptStatus {
                    leg: 2,
                    attempt: 3,
                    state: AttemptState::Disrupted,
                    job_uid: "job".to_owned(),
                    coordinator_pod_uid: None,
                    image_digest: None,
                    started_at: None,
                    finished_at: None,
                    reason: Some(reason.to_owned()),
                    message: None,
                }],
                ..ExecutionStatus::default()
            }),
            ..BenchmarkRunStatus::default()
        };
        let before = repeated(0, 0, "Preempted");
        assert!(between(None, &before).is_empty());
        for (reason, preemptions, lost_places) in [("Preempted", 1, 0), ("PlaceLost", 0, 1)] {
            let after = repeated(preemptions, lost_places, reason);
            let [event] = &between(Some(&before), &after)[..] else {
                panic!("expected one event")
            };
            assert_eq!(event.reason, reason);
            assert!(event.note.as_ref().unwrap().len() <= MAX_NOTE_BYTES);
            assert!(between(Some(&after), &after).is_empty());
        }
        assert!(
            between(Some(&before), &repeated(0, 1, "PodDeleted")).is_empty(),
            "a disruption"
        );
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
