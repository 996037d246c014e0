//! Validates the scenarios of a run with the many-to-many pattern, whose flows must be active concurrently.

use crds::v1alpha1::BenchmarkRunSpec;

use super::reporter::Reporter;
use crate::workload::given;

/// Validates the workloads and the devices of a run with the many-to-many pattern.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let Some(pattern) = spec.placement.many_to_many() else {
        return;
    };
    if spec.devices.groups() > 1 {
        report.add(
            "spec.devices.gpus",
            "`spec.placement.pattern: ManyToMany` supports one GPU per worker. Keep one GPU, or use \
             `pattern: Pairwise`",
        );
    }
    for (index, scenario) in spec.scenarios.iter().enumerate() {
        if let Some(workload) = scenario.workload() {
            let path = format!("spec.scenarios[{index}].{}", workload.field());
            given(workload).check_flows(&path, pattern, report);
        }
    }
}
