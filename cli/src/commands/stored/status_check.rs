//! Compares the status in `run.json` with the status computed from the records. Performs no I/O.

use campaign::status::{Phase, StatusInput, fit, status};
use crds::v1alpha1::{BenchmarkRunStatus, Reason, State};
use serde_json::Value;

use super::StoredRun;
use crate::json_difference::{JsonDifference, json_differences};

/// Status fields that are computed only from the spec and the records.
const DERIVED: [&str; 11] = [
    "progress",
    "environment",
    "fabric",
    "results",
    "comparisons",
    "expectations",
    "pairs",
    "nodes",
    "verdict",
    "best",
    "outcome",
];

/// Describes the first value in the stored status that differs from the records. Returns `None` if all values agree.
///
/// For a run that is not finished, compares only the number of measured blocks.
pub(super) fn difference(stored: &StoredRun) -> Option<String> {
    let written = stored.run.status.as_ref()?;
    if !is_finished(written) {
        let recorded = stored.evaluation.summary.blocks_done;
        let stated = written.progress.as_ref()?.blocks_done;
        return (stated != recorded).then(|| {
            format!(
                "run.json shows {stated} measured blocks, but the records contain {recorded}: the run is in progress \
                 or was killed. The report uses the records. Continue a killed run with `fabricbench run FILE --resume \
                 DIR`"
            )
        });
    }
    let derived = fit(status(&StatusInput {
        plan: &stored.plan,
        phase: phase(written),
        evaluation: &stored.evaluation,
        records: written.records.clone(),
        generation: written.observed_generation,
        now: "",
        previous: Some(written),
    }));
    let [written, derived] =
        [written, &derived].map(|status| serde_json::to_value(status).unwrap_or_default());
    let found = DERIVED
        .iter()
        .find_map(|field| first_difference(field, &written[*field], &derived[*field]))?;
    Some(format!(
        "run.json was changed, or written by another version of fabricbench: {found}. The report uses the records"
    ))
}

fn is_finished(status: &BenchmarkRunStatus) -> bool {
    matches!(status.state, Some(State::Complete | State::Failed))
}

/// Returns the phase from which the status was computed. A failure's reason and message are omitted, because they
/// affect only the conditions, which are not compared.
fn phase(status: &BenchmarkRunStatus) -> Phase {
    match status.state {
        Some(State::Failed) => Phase::Failed {
            reason: Reason::BlocksMissing,
            message: String::new(),
        },
        _ => Phase::Complete,
    }
}

/// Describes the first value below `path` that differs.
fn first_difference(path: &str, written: &Value, derived: &Value) -> Option<String> {
    let found = json_differences(&format!("status.{path}"), written, derived);
    let describe = |value: Option<&Value>| value.map_or_else(|| "unset".to_owned(), Value::to_string);
    found.first().map(|JsonDifference { path, first, second }| {
        format!(
            "{path} is {}, but the records yield {}",
            describe(*first),
            describe(*second)
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn describes_the_first_difference_with_its_path() {
        let written = json!({"a": [{"p50": 1}, {"p50": 2}], "b": null});
        assert_eq!(first_difference("results", &written, &written), None);
        let derived = json!({"a": [{"p50": 1}, {"p50": 3}]});
        assert_eq!(
            first_difference("results", &written, &derived).unwrap(),
            "status.results.a[1].p50 is 2, but the records yield 3"
        );
        let longer = json!({"a": [1, 2, 3]});
        assert_eq!(
            first_difference("results", &written, &longer).unwrap(),
            "status.results.a[0] is {\"p50\":1}, but the records yield 1"
        );
        assert_eq!(
            first_difference("results", &json!({}), &json!({"c": 1})).unwrap(),
            "status.results.c is unset, but the records yield 1"
        );
    }
}
