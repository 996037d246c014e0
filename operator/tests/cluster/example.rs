//! The repository's examples, and their results.

use std::path::Path;

use crds::v1alpha1::{ArmResult, BenchmarkRun, BenchmarkRunStatus};

/// Returns the run in `examples/NAME.yaml`.
pub fn example(name: &str) -> BenchmarkRun {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/{name}.yaml"));
    // Serde's representation of enums differs between JSON, which the API server uses, and YAML.
    let document: serde_json::Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    serde_json::from_value(document).unwrap()
}

/// Returns the first result of `arm` in `scenario`.
#[track_caller]
pub fn result<'a>(status: &'a BenchmarkRunStatus, scenario: &str, arm: &str) -> &'a ArmResult {
    let mut results = status.results.iter();
    let found = results.find(|one| (one.scenario.as_str(), one.arm.as_str()) == (scenario, arm));
    found.unwrap_or_else(|| panic!("no result for {scenario} {arm}: {status:#?}"))
}
