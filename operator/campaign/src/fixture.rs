//! Runs for the unit tests.

use crds::v1alpha1::BenchmarkRun;

/// Reads a run from YAML. Unions are read as in JSON, not as YAML tags.
pub(crate) fn run_from_yaml(yaml: &str) -> BenchmarkRun {
    let value: serde_json::Value = serde_yaml::from_str(yaml).unwrap();
    serde_json::from_value(value).unwrap()
}
