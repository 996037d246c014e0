//! Runs and cases for the unit tests.

use crds::assignment::Pass;
use crds::record::{CaseFailure, CaseResult, FailureReason};
use crds::v1alpha1::BenchmarkRun;

use crate::collect::Case;

/// Parses a run from YAML. The YAML is converted to JSON first, because `serde_yaml` expects enums as YAML tags.
pub(crate) fn run_from_yaml(yaml: &str) -> BenchmarkRun {
    let value: serde_json::Value = serde_yaml::from_str(yaml).unwrap();
    serde_json::from_value(value).unwrap()
}

/// A failed case of arm 0 in round 0, between ranks 0 and 1.
pub(crate) fn failed_case() -> Case {
    Case {
        leg: 0,
        attempt: 1,
        block: 0,
        round: 0,
        restart: 0,
        pass: Pass::Measure,
        scenario: 0,
        size_bytes: 64,
        arm: 0,
        initiator: 0,
        target: 1,
        started_nanos: 0,
        span_nanos: None,
        outcome: CaseResult::Failed(CaseFailure {
            reason: FailureReason::Internal,
            message: String::new(),
        }),
    }
}
