//! Compares the status in `run.json` with the status computed from the records and the plan. Performs no I/O.

use campaign::status::{Phase, StatusInput, fit, status};
use crds::v1alpha1::{BenchmarkRunStatus, Condition, ConditionType, Reason, RecordsReference, State};
use serde_json::Value;

use super::StoredRun;
use crate::json_difference::{JsonDifference, json_differences};
use crate::local::RECORDS_FILE;

/// Maximum number of differences in a warning.
const MAX_SHOWN: usize = 5;
/// Maximum length of a value in a warning, in characters.
const MAX_VALUE_CHARS: usize = 200;

/// A field of the status that the records and the plan do not determine.
struct Undetermined {
    /// Path of the field, without indexes.
    path: &'static str,
    /// Whether the field is undetermined only in the status of a run in a cluster.
    in_cluster: bool,
}

/// Fields that cannot be computed. All other fields are compared.
const UNDETERMINED: [Undetermined; 8] = [
    // The API server counts the generations of the spec.
    Undetermined {
        path: "observedGeneration",
        in_cluster: false,
    },
    Undetermined {
        path: "conditions[].observedGeneration",
        in_cluster: false,
    },
    // No record contains the time at which the writer of the status noticed a change.
    Undetermined {
        path: "conditions[].lastTransitionTime",
        in_cluster: false,
    },
    // The hash of the file has been compared with it before. In a cluster, it covers the ConfigMaps.
    Undetermined {
        path: "records.sha256",
        in_cluster: false,
    },
    // The name of the ConfigMaps depends on how often the operator has restarted.
    Undetermined {
        path: "records.reference",
        in_cluster: true,
    },
    // The state of the controller: attempts and timers.
    Undetermined {
        path: "execution",
        in_cluster: true,
    },
    // The operator takes the nodes from the pods, in an order that differs from the records.
    Undetermined {
        path: "placement",
        in_cluster: true,
    },
    // The operator adds a warning about its own configuration.
    Undetermined {
        path: "warnings",
        in_cluster: true,
    },
];

/// Fields of the status of a run in progress that do not depend on the time at which the status was written.
const OF_UNFINISHED: [&str; 4] = ["planHash", "seed", "outcome", "records"];

/// Describes the values of the stored status `written` that differ from the records and the plan. `records` are the records
/// that were read. Returns `None` if all values agree.
///
/// For a run that is not finished, compares only the number of measured blocks, and the values that do not depend on the
/// time at which the status was written.
pub(super) fn difference(stored: &StoredRun, written: &Value, records: RecordsReference) -> Option<String> {
    let typed = stored.run.status.as_ref()?;
    let is_finished = is_finished(typed);
    let summary = &stored.evaluation.summary;
    let recorded = summary.blocks_done;
    let stated = typed.progress.as_ref().map_or(0, |progress| progress.blocks_done);
    if !is_finished && stated != recorded {
        return Some(format!(
            "run.json shows {stated} measured blocks, but the records contain {recorded}: the run is in progress or was \
             killed. The report uses the records. Continue a killed run with `fabricbench run FILE --resume DIR`"
        ));
    }
    let has_file = typed
        .records
        .as_ref()
        .is_some_and(|records| records.reference == RECORDS_FILE);
    let in_cluster = typed.execution.is_some() && !has_file;
    // A run in a cluster that has measured nothing may have no records.
    let records = match in_cluster && recorded == 0 {
        true => typed.records.clone(),
        false => Some(records),
    };
    let mut derived = fit(status(&StatusInput {
        plan: &stored.plan,
        phase: phase(typed, stored),
        evaluation: &stored.evaluation,
        records: records.filter(|_| is_finished),
        generation: typed.observed_generation,
        now: "",
        previous: Some(typed),
    }));
    copy_failure(&mut derived, typed);
    let derived = serde_json::to_value(derived).unwrap_or_default();
    let mut differences: Vec<_> = json_differences("status", written, &derived)
        .into_iter()
        .filter(|difference| is_determined(difference, in_cluster))
        .collect();
    if !is_finished {
        differences.retain(|difference| {
            let field = field(&difference.path);
            OF_UNFINISHED.iter().any(|one| field.starts_with(one))
        });
    }
    describe(&differences)
}

/// Whether the records and the plan determine the value.
fn is_determined(difference: &JsonDifference<'_>, in_cluster: bool) -> bool {
    let path = field(&difference.path);
    // A condition that only the operator adds is an additional item of the list.
    let is_cleanup = in_cluster
        && path == "conditions[]"
        && difference
            .first
            .and_then(|condition| condition["type"].as_str())
            .is_some_and(|kind| kind == ConditionType::CleanupBlocked.as_str());
    let is_undetermined = UNDETERMINED.iter().any(|undetermined| {
        let is_below = path
            .strip_prefix(undetermined.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        is_below && (in_cluster || !undetermined.in_cluster)
    });
    !is_cleanup && !is_undetermined
}

/// The path of a field below `status`, without indexes.
fn field(path: &str) -> String {
    let path = path.strip_prefix("status.").unwrap_or(path);
    let mut field = String::new();
    let mut in_index = false;
    for character in path.chars() {
        in_index = match character {
            '[' => true,
            ']' => false,
            _ => in_index,
        };
        if !in_index || character == '[' {
            field.push(character);
        }
    }
    field
}

/// Whether the status is that of a finished run: its state, its outcome or one of its conditions says so. All of them must
/// agree, so one that was changed must not prevent the comparison of the others.
pub(super) fn is_finished(written: &BenchmarkRunStatus) -> bool {
    let is_final = |condition: &Condition| {
        condition.is_true()
            && (condition.has_type(ConditionType::Complete) || condition.has_type(ConditionType::Failed))
    };
    matches!(written.state, Some(State::Complete | State::Failed))
        || written.outcome.is_some()
        || written.conditions.iter().any(is_final)
}

/// Returns the phase from which the status must have been computed.
fn phase(written: &BenchmarkRunStatus, stored: &StoredRun) -> Phase {
    let is_local = written.execution.is_none();
    let is_complete = stored.evaluation.summary.is_complete();
    match written.state {
        _ if !is_finished(written) => Phase::Running,
        // A local run that has measured all blocks has not failed for another reason.
        Some(State::Failed) if is_complete && !is_local => blocks_missing(),
        _ if is_complete => Phase::finished(&stored.evaluation),
        _ => blocks_missing(),
    }
}

fn blocks_missing() -> Phase {
    Phase::Failed {
        reason: Reason::BlocksMissing,
        message: String::new(),
    }
}

/// Copies the reason and the message of the failure from the stored status: the records of a run that failed before all
/// blocks were measured do not contain why.
fn copy_failure(derived: &mut BenchmarkRunStatus, written: &BenchmarkRunStatus) {
    let is_failed = |condition: &&Condition| condition.has_type(ConditionType::Failed) && condition.is_true();
    let Some(failed) = written.conditions.iter().find(is_failed) else {
        return;
    };
    for condition in &mut derived.conditions {
        if condition.has_type(ConditionType::Failed)
            && condition.is_true()
            && condition.reason == Reason::BlocksMissing.as_str()
        {
            condition.reason.clone_from(&failed.reason);
            condition.message.clone_from(&failed.message);
        }
    }
}

/// Describes the first differences by path, and the number of the others.
fn describe(differences: &[JsonDifference<'_>]) -> Option<String> {
    if differences.is_empty() {
        return None;
    }
    let shown: Vec<String> = differences
        .iter()
        .take(MAX_SHOWN)
        .map(|JsonDifference { path, first, second }| {
            format!(
                "{path} is {}, but the records yield {}",
                shown(*first),
                shown(*second)
            )
        })
        .collect();
    let more = match differences.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(format!(
        "run.json was changed, or written by another version of fabricbench: {}{more}. The report uses the records",
        shown.join("; ")
    ))
}

/// A value in a warning.
fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "unset".to_owned(), Value::to_string);
    campaign::format::clipped(&text, MAX_VALUE_CHARS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn difference(written: &Value, derived: &Value) -> Option<String> {
        describe(&json_differences("status.results", written, derived))
    }

    #[test]
    fn describes_the_differences_with_their_paths() {
        let written = json!({"a": [{"p50": 1}, {"p50": 2}], "b": null});
        assert_eq!(difference(&written, &written), None);
        let derived = json!({"a": [{"p50": 1}, {"p50": 3}], "c": 1});
        let text = difference(&written, &derived).unwrap();
        assert!(
            text.contains(
                "status.results.a[1].p50 is 2, but the records yield 3; status.results.c is unset, but the records yield 1"
            ),
            "{text}"
        );
        let text = difference(
            &json!({"a": [1, 2, 3, 4, 5, 6, 7]}),
            &json!({"a": [0, 0, 0, 0, 0, 0, 0]}),
        )
        .unwrap();
        assert!(
            text.contains("a[4] is 5, but the records yield 0; and 2 more. "),
            "{text}"
        );
    }

    #[test]
    fn only_listed_fields_are_undetermined() {
        let is_compared = |path: &str, in_cluster| {
            is_determined(
                &JsonDifference {
                    path: path.to_owned(),
                    first: None,
                    second: None,
                },
                in_cluster,
            )
        };
        for path in [
            "status.conditions[2].message",
            "status.state",
            "status.seed",
            "status.sweeps[0].points[1].rate",
            "status.results[0].serving.workersWithoutVersion",
        ] {
            assert!(is_compared(path, false) && is_compared(path, true), "{path}");
        }
        for path in [
            "status.placement.nodes[0]",
            "status.warnings[1]",
            "status.records.reference",
        ] {
            assert!(is_compared(path, false) && !is_compared(path, true), "{path}");
        }
        assert!(!is_compared("status.conditions[0].lastTransitionTime", false));
    }
}
