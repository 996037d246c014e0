//! What became of a run, as events: closed reasons, told once, after the status that says the same was written. Pure.

use crds::v1alpha1::{BenchmarkRunStatus, Condition};
use kube::runtime::events::{Event, EventType};

/// The conditions whose coming true is an event, in the order of a run's life, and how serious that is.
const TOLD: [(&str, EventType); 4] = [
    ("Suspended", EventType::Normal),
    ("Running", EventType::Normal),
    ("Complete", EventType::Normal),
    ("Failed", EventType::Warning),
];
/// A condition of trouble that a run may get over.
const BLOCKED: &str = "CleanupBlocked";
/// Longest note of an event, in bytes, as the API server has it.
const MAX_NOTE_BYTES: usize = 1024;

/// What happened between two statuses of a run.
pub(crate) fn between(before: Option<&BenchmarkRunStatus>, after: &BenchmarkRunStatus) -> Vec<Event> {
    let told = TOLD.iter().map(|(name, type_)| (*name, *type_));
    let all = told.chain([(BLOCKED, EventType::Warning)]);
    all.filter_map(|(name, type_)| {
        let now = holding(Some(after), name)?;
        holding(before, name).is_none().then(|| event(now, type_))
    })
    .collect()
}

/// Something could not be done for a run, and is tried again.
pub(crate) fn look_failed(reason: &'static str, message: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: reason.to_owned(),
        note: Some(note(message)),
        action: "Reconcile".to_owned(),
        secondary: None,
    }
}

fn holding<'a>(status: Option<&'a BenchmarkRunStatus>, name: &str) -> Option<&'a Condition> {
    let mut conditions = status?.conditions.iter();
    conditions.find(|condition| condition.type_ == name && condition.status == "True")
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
    fn only_what_came_true_is_told_and_once() {
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
