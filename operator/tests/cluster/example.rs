//! The repository's examples, and their results.

use std::path::Path;

use crds::v1alpha1::{ArmResult, BenchmarkRun, BenchmarkRunStatus};
use serde::Deserialize;

/// Returns the run in `examples/NAME.yaml`.
pub fn example(name: &str) -> BenchmarkRun {
    examples(name).remove(0)
}

/// Reads all runs of an example.
pub fn examples(name: &str) -> Vec<BenchmarkRun> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/{name}.yaml"));
    let text = std::fs::read_to_string(file).unwrap();
    let run = |document| {
        // Serde's representation of enums differs between JSON, which the API server uses, and YAML.
        let value = serde_json::Value::deserialize(document).unwrap();
        serde_json::from_value(value).unwrap()
    };
    serde_yaml::Deserializer::from_str(&text).map(run).collect()
}

/// Returns the first result of `arm` in `scenario`.
#[track_caller]
pub fn result<'a>(status: &'a BenchmarkRunStatus, scenario: &str, arm: &str) -> &'a ArmResult {
    let mut results = status.results.iter();
    let found = results.find(|one| (one.scenario.as_str(), one.arm.as_str()) == (scenario, arm));
    found.unwrap_or_else(|| panic!("no result for {scenario} {arm}: {status:#?}"))
}
