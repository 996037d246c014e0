//! Kubernetes events for a run. An event is published once, after the status that shows the change has been written: when
//! a condition becomes true, when the run starts to wait for something else, and when an attempt is lost. Events with the
//! same reason are counted in one, which keeps the note of the first. Performs no I/O.

use campaign::format::pluralized;
use crds::printable::printable_on_one_line;
use crds::v1alpha1::{
    AttemptState, AttemptStatus, BenchmarkRunStatus, Condition, ConditionType, ExecutionStatus, Reason,
};
use kube::runtime::events::{Event, EventType};

/// Conditions that are published as events when they become true, in lifecycle order, with their event types.
const PUBLISHED_CONDITIONS: [(ConditionType, EventType); 5] = [
    (ConditionType::Suspended, EventType::Normal),
    (ConditionType::Running, EventType::Normal),
    (ConditionType::Complete, EventType::Normal),
    (ConditionType::Failed, EventType::Warning),
    (ConditionType::CleanupBlocked, EventType::Warning),
];
/// Reasons for which a run waits that are published as events. The others pass by themselves.
const PUBLISHED_WAITS: [Reason; 5] = [
    Reason::WaitingForAdmission,
    Reason::WaitingForNodes,
    Reason::InsufficientNodes,
    Reason::Unschedulable,
    Reason::FailedCreate,
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
/// Number of nodes that the event for a started gang names.
const MAX_NAMED_NODES: usize = 8;

/// Returns the events for the changes between a run's statuses `before` and `after`. `explanation` is the whole text of why
/// the run waits or failed, which `after` shortens.
pub(crate) fn between(
    before: Option<&BenchmarkRunStatus>,
    after: &BenchmarkRunStatus,
    explanation: Option<&str>,
) -> Vec<Event> {
    let became_true = PUBLISHED_CONDITIONS.iter().filter_map(|(type_, event_type)| {
        let now = true_condition(Some(after), *type_)?;
        if true_condition(before, *type_).is_some() {
            return None;
        }
        let text = match type_ {
            ConditionType::Failed => explanation.unwrap_or(&now.message).to_owned(),
            ConditionType::Running => format!("{}{}", now.message, place(after)),
            ConditionType::Complete => format!("{}{}", now.message, skipped(after)),
            _ => now.message.clone(),
        };
        Some(event(now, *event_type, &text))
    });
    let mut events: Vec<_> = lost_attempt(before, after).into_iter().collect();
    events.extend(started_to_wait(before, after, explanation));
    events.extend(became_true);
    events
}

/// Where the workers run.
fn place(status: &BenchmarkRunStatus) -> String {
    let nodes = status
        .placement
        .as_ref()
        .map_or(&[][..], |placement| &placement.nodes);
    if nodes.is_empty() {
        return String::new();
    }
    let named = nodes.iter().take(MAX_NAMED_NODES).map(String::as_str);
    let more = nodes.len().saturating_sub(MAX_NAMED_NODES);
    let more = (more > 0).then(|| format!(" and {}", pluralized(more as u64, "other node")));
    let named = named.collect::<Vec<_>>().join(", ");
    format!("; the workers run on {named}{}", more.unwrap_or_default())
}

/// What the run did not have to measure, because its comparisons had ended.
fn skipped(status: &BenchmarkRunStatus) -> String {
    let progress = status.progress.as_ref();
    let skipped = progress.and_then(|progress| Some((progress.blocks_skipped?, progress.saved_percent?)));
    let skipped = skipped.filter(|(blocks, percent)| blocks + percent > 0);
    skipped.map_or_else(String::new, |(blocks, percent)| {
        format!(
            "; settled early: {} and {percent} % of the cases were skipped, because their comparisons had ended",
            pluralized(blocks.into(), "block")
        )
    })
}

/// Returns the event for a run that waits for something else than before.
fn started_to_wait(
    before: Option<&BenchmarkRunStatus>,
    after: &BenchmarkRunStatus,
    explanation: Option<&str>,
) -> Option<Event> {
    let running = |status: Option<&BenchmarkRunStatus>| {
        let mut conditions = status?.conditions.iter();
        let condition = conditions.find(|condition| condition.has_type(ConditionType::Running));
        condition.filter(|condition| !condition.is_true()).cloned()
    };
    let now = running(Some(after))?;
    let is_published = PUBLISHED_WAITS.iter().any(|reason| reason.as_str() == now.reason);
    let is_new = running(before).is_none_or(|before| before.reason != now.reason);
    (is_published && is_new).then(|| Event {
        action: "Wait".to_owned(),
        ..event(&now, EventType::Normal, explanation.unwrap_or(&now.message))
    })
}

/// Returns the event for an attempt that another one follows: a preemption by a queue, a lost place or a disruption.
fn lost_attempt(before: Option<&BenchmarkRunStatus>, after: &BenchmarkRunStatus) -> Option<Event> {
    let none = ExecutionStatus::default();
    fn execution<'a>(
        status: Option<&'a BenchmarkRunStatus>,
        none: &'a ExecutionStatus,
    ) -> &'a ExecutionStatus {
        status
            .and_then(|status| status.execution.as_ref())
            .unwrap_or(none)
    }
    let (before, after) = (execution(before, &none), execution(Some(after), &none));
    let last = after.attempts.last()?;
    let id = |attempt: &AttemptStatus| (attempt.leg, attempt.attempt);
    let was_lost = before
        .attempts
        .last()
        .is_some_and(|attempt| id(attempt) == id(last) && attempt.state == last.state);
    if last.state != AttemptState::Disrupted || was_lost {
        return None;
    }
    let reason = last.reason.as_deref().unwrap_or_default();
    let preempted = after.preemptions > before.preemptions;
    let (type_, text) = match reason {
        _ if preempted => (EventType::Normal, PREEMPTION_NOTE.to_owned()),
        _ if reason == Reason::PlaceLost.as_str() => (EventType::Normal, LOST_PLACE_NOTE.to_owned()),
        _ => {
            let cause = last.message.as_deref().unwrap_or_default();
            let text = format!(
                "leg {}, attempt {} was disrupted; its missing blocks are measured again: {cause}",
                last.leg, last.attempt
            );
            (EventType::Warning, text)
        }
    };
    Some(Event {
        type_,
        reason: reason.to_owned(),
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
    let mut note = printable_on_one_line(text);
    while note.len() > MAX_NOTE_BYTES {
        note.pop();
    }
    note
}

fn event(condition: &Condition, type_: EventType, text: &str) -> Event {
    let note = note(text);
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
    use crds::v1alpha1::{PlacementStatus, Progress};

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

    fn after_attempt(number: u32, reason: &str, preemptions: u32) -> BenchmarkRunStatus {
        BenchmarkRunStatus {
            execution: Some(ExecutionStatus {
                preemptions,
                attempts: vec![AttemptStatus {
                    leg: 2,
                    attempt: number,
                    state: AttemptState::Disrupted,
                    job_uid: "job".to_owned(),
                    coordinator_pod_uid: None,
                    admitted_at: None,
                    image_digest: None,
                    started_at: None,
                    finished_at: None,
                    reason: Some(reason.to_owned()),
                    message: Some("node-1 does not respond".to_owned()),
                }],
                ..ExecutionStatus::default()
            }),
            ..BenchmarkRunStatus::default()
        }
    }

    #[test]
    fn publishes_each_lost_attempt_once() {
        let before = after_attempt(2, "Preempted", 1);
        for (reason, preemptions, type_) in [
            ("Preempted", 2, EventType::Normal),
            ("PlaceLost", 1, EventType::Normal),
            ("NodeLost", 1, EventType::Warning),
        ] {
            let after = after_attempt(3, reason, preemptions);
            let [event] = &between(Some(&before), &after, None)[..] else {
                panic!("expected one event")
            };
            assert_eq!((event.reason.as_str(), event.type_), (reason, type_));
            let note = event.note.as_ref().unwrap();
            assert!(note.len() <= MAX_NOTE_BYTES);
            assert_eq!(note.contains("node-1"), reason == "NodeLost");
            assert!(between(Some(&after), &after, None).is_empty());
        }
    }

    #[test]
    fn publishes_a_wait_once_with_the_whole_explanation() {
        let waiting = |reason: Reason| {
            let mut status = status(&[("Running", "False")]);
            status.conditions[0].reason = reason.to_string();
            status
        };
        let queue = waiting(Reason::WaitingForAdmission);
        let starting = waiting(Reason::PodsStarting);
        let [event] = &between(Some(&starting), &queue, Some("the whole text"))[..] else {
            panic!("expected one event")
        };
        assert_eq!(
            (event.reason.as_str(), event.note.as_deref()),
            ("WaitingForAdmission", Some("the whole text"))
        );
        assert!(between(Some(&queue), &queue, Some("another text")).is_empty());
        assert!(between(Some(&queue), &starting, None).is_empty());
        assert!(between(Some(&status(&[("Running", "True")])), &starting, None).is_empty());
    }

    #[test]
    fn notes_name_the_nodes_and_what_was_skipped() {
        let mut status = status(&[("Running", "True"), ("Complete", "True")]);
        for condition in &mut status.conditions {
            condition.message = "text".to_owned();
        }
        let nodes = (1..=9).map(|number| format!("n{number}")).collect();
        status.placement = Some(PlacementStatus { nodes });
        status.progress = Some(Progress {
            blocks_done: 3,
            blocks_total: 3,
            blocks_skipped: Some(1),
            saved_percent: Some(40),
            text: String::new(),
        });
        let notes: Vec<_> = between(None, &status, None)
            .into_iter()
            .filter_map(|event| event.note)
            .collect();
        assert_eq!(
            notes,
            [
                "text; the workers run on n1, n2, n3, n4, n5, n6, n7, n8 and 1 other node",
                "text; settled early: 1 block and 40 % of the cases were skipped, because their comparisons had ended",
            ]
        );
    }

    #[test]
    fn publishes_each_condition_once_when_it_becomes_true() {
        let running = status(&[("Accepted", "True"), ("Running", "True"), ("Failed", "False")]);
        let first = between(None, &running, None);
        assert_eq!(
            first
                .iter()
                .map(|event| event.reason.as_str())
                .collect::<Vec<_>>(),
            ["RunningReason"]
        );
        assert!(first[0].note.as_ref().unwrap().len() <= MAX_NOTE_BYTES);
        assert!(between(Some(&running), &running, None).is_empty());
        let failed = status(&[("Running", "False"), ("Failed", "True")]);
        let then = between(Some(&running), &failed, None);
        assert_eq!(then.len(), 1);
        assert_eq!(
            (then[0].reason.as_str(), then[0].type_),
            ("FailedReason", EventType::Warning)
        );
    }
}
