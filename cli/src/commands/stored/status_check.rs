//! Compares the stored status of a run with the status computed from the records and the plan. Performs no I/O.

use campaign::status::{Phase, StatusInput, fit, status};
use crds::v1alpha1::{BenchmarkRunStatus, Condition, ConditionType, Reason, RecordsReference, State};
use operator::run_controller::{Planned, recomputed, recomputed_rejection};
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
const UNDETERMINED: [Undetermined; 6] = [
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
];

/// Fields of the status of a run in progress that do not depend on the time at which the status was written.
const OF_UNFINISHED: [&str; 4] = ["planHash", "seed", "outcome", "records"];
/// Fields of the status of a failed run whose results the operator may have computed from other records than the stored
/// ones.
const WITHOUT_RESULTS: [&str; 5] = [
    "planHash",
    "seed",
    "state",
    "conditions[].status",
    "conditions[].reason",
];

/// Describes the values of the stored status `written`, which `subject` contains, that differ from the records and the plan.
/// `records` are the records that were read. Returns `None` if all values agree.
///
/// For a run that is not finished, compares only the number of measured blocks, and the values that do not depend on the
/// time at which the status was written.
pub(super) fn difference(
    stored: &StoredRun,
    written: &Value,
    records: Option<RecordsReference>,
    subject: &str,
) -> Option<String> {
    let typed = stored.run.status.as_ref()?;
    let is_finished = is_finished(typed);
    let has_file = typed
        .records
        .as_ref()
        .is_some_and(|records| records.reference == RECORDS_FILE);
    let in_cluster = typed.execution.is_some() && !has_file;
    let recorded = stored.evaluation.summary.blocks_done;
    let stated = typed.progress.as_ref().map_or(0, |progress| progress.blocks_done);
    // In a cluster, the status of a run in progress is written after its records.
    if !is_finished && stated != recorded && !in_cluster {
        return Some(format!(
            "{subject} shows {stated} measured blocks, but the records contain {recorded}: the run is in progress or was \
             killed. The report uses the records. Continue a killed run with `fabricbench run FILE --resume DIR`"
        ));
    }
    // In a cluster, the status of a run in progress already refers to its records, and a run that has measured nothing may
    // have none.
    let records = match in_cluster && (recorded == 0 || !is_finished) {
        true => typed.records.clone(),
        false => records.filter(|_| is_finished),
    };
    let compared: Option<&[&str]> = if !is_finished {
        Some(&OF_UNFINISHED)
    } else if in_cluster && has_other_records(typed) {
        Some(&WITHOUT_RESULTS)
    } else {
        None
    };
    let possible: Vec<Value> = derived(stored, typed, in_cluster, records)
        .iter()
        .map(|derived| serde_json::to_value(derived).unwrap_or_default())
        .collect();
    let differences = possible.iter().map(|derived| {
        let mut differences = json_differences("status", written, derived);
        differences.retain(|difference| {
            let field = field(&difference.path);
            is_determined(&field, in_cluster)
                && compared.is_none_or(|compared| compared.iter().any(|one| field.starts_with(one)))
        });
        differences
    });
    describe(&differences.min_by_key(Vec::len)?, subject)
}

/// The statuses that may have been written for the run.
fn derived(
    stored: &StoredRun,
    written: &BenchmarkRunStatus,
    in_cluster: bool,
    records: Option<RecordsReference>,
) -> Vec<BenchmarkRunStatus> {
    if let Some(message) = rejection(written).filter(|_| in_cluster) {
        return recomputed_rejection(written, message).into();
    }
    let (plan, evaluation) = (&stored.plan, &stored.evaluation);
    let phase = phase(written, stored, in_cluster);
    let mut derived = match in_cluster {
        true => {
            let planned = Planned {
                plan,
                evaluation,
                records,
            };
            recomputed(written, planned, phase).into()
        }
        false => vec![fit(status(&StatusInput {
            plan,
            phase,
            evaluation,
            records,
            generation: written.observed_generation,
            now: "",
            previous: Some(written),
        }))],
    };
    for derived in &mut derived {
        copy_failure(derived, written);
    }
    derived
}

/// Why the operator rejected the run: the installation does not allow its image, for example.
fn rejection(written: &BenchmarkRunStatus) -> Option<&str> {
    let mut conditions = written.conditions.iter();
    let rejected = conditions.find(|condition| {
        condition.has_type(ConditionType::Accepted) && condition.reason == Reason::InvalidSpec.as_str()
    })?;
    Some(&rejected.message)
}

/// Whether the operator may have computed the results from other records than the stored ones: records could not be
/// stored, or another version measured them.
pub(super) fn has_other_records(written: &BenchmarkRunStatus) -> bool {
    failure(written).is_some_and(|failed| {
        [Reason::RecordsLost, Reason::PlanChanged]
            .iter()
            .any(|reason| failed.reason == reason.as_str())
    })
}

/// The condition of a failed run.
fn failure(written: &BenchmarkRunStatus) -> Option<&Condition> {
    let mut conditions = written.conditions.iter();
    conditions.find(|condition| condition.has_type(ConditionType::Failed) && condition.is_true())
}

/// Whether the records and the plan determine the field at `path`, which has no indexes.
fn is_determined(path: &str, in_cluster: bool) -> bool {
    !UNDETERMINED.iter().any(|undetermined| {
        let is_below = path
            .strip_prefix(undetermined.path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        is_below && (in_cluster || !undetermined.in_cluster)
    })
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
fn phase(written: &BenchmarkRunStatus, stored: &StoredRun, in_cluster: bool) -> Phase {
    let summary = &stored.evaluation.summary;
    if !is_finished(written) {
        return Phase::Running;
    }
    // A run that has measured all blocks can have failed for a reason that the records do not contain only in a cluster.
    let failed_otherwise = in_cluster
        && says_failed(written)
        && failure(written).is_none_or(|failed| failed.reason != Reason::NothingMeasured.as_str());
    match summary.is_complete() && !failed_otherwise {
        true => Phase::finished(&stored.evaluation),
        false => Phase::Failed {
            reason: Reason::BlocksMissing,
            message: failure(written).map_or_else(String::new, |failed| failed.message.clone()),
        },
    }
}

/// Whether most of the three values that say so are those of a failed run, so that the one that was changed is noticed.
fn says_failed(written: &BenchmarkRunStatus) -> bool {
    let is_complete = written
        .conditions
        .iter()
        .any(|condition| condition.has_type(ConditionType::Complete) && condition.is_true());
    let values = [
        written.state == Some(State::Failed),
        failure(written).is_some(),
        !is_complete,
    ];
    values.into_iter().filter(|value| *value).count() >= 2
}

/// Copies the reason of the failure from the stored status: the records of a run that failed before all blocks were measured
/// do not contain why.
fn copy_failure(derived: &mut BenchmarkRunStatus, written: &BenchmarkRunStatus) {
    let Some(failed) = failure(written) else {
        return;
    };
    for condition in &mut derived.conditions {
        if condition.has_type(ConditionType::Failed)
            && condition.is_true()
            && condition.reason == Reason::BlocksMissing.as_str()
        {
            condition.reason.clone_from(&failed.reason);
        }
    }
}

/// Describes the first differences by path, and the number of the others.
fn describe(differences: &[JsonDifference<'_>], subject: &str) -> Option<String> {
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
        "{subject} was changed, or written by another version of fabricbench: {}{more}. The report uses the records",
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
        describe(&json_differences("status.results", written, derived), "run.json")
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
        let is_compared = |path: &str, in_cluster| is_determined(&field(path), in_cluster);
        for path in [
            "status.conditions[2].message",
            "status.state",
            "status.seed",
            "status.sweeps[0].points[1].rate",
            "status.results[0].serving.workersWithoutVersion",
            "status.placement.nodes[0]",
            "status.warnings[1]",
        ] {
            assert!(is_compared(path, false) && is_compared(path, true), "{path}");
        }
        for path in ["status.execution.attempts[0].leg", "status.records.reference"] {
            assert!(is_compared(path, false) && !is_compared(path, true), "{path}");
        }
        assert!(!is_compared("status.conditions[0].lastTransitionTime", false));
    }
}
