//! Benchmark runs for the unit tests.

use crds::v1alpha1::BenchmarkRun;

/// Parses a run from YAML. The YAML is converted to JSON first, because `serde_yaml` expects enums as YAML tags.
pub(crate) fn run_from_yaml(yaml: &str) -> BenchmarkRun {
    let value: serde_json::Value = serde_yaml::from_str(yaml).unwrap();
    serde_json::from_value(value).unwrap()
}
