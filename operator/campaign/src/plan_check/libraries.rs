//! Describes how the timed regions of arms with different libraries differ. Performs no I/O.

use super::note::{Notes, Severity};
use crate::plan::Plan;
use crate::workload::rules;

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    for difference in differences(plan) {
        notes.add(Severity::Notice, difference);
    }
}

/// Describes each scenario and arm whose samples end at a different event than the baseline's samples, so that a
/// verdict also compares the events.
pub(crate) fn differences(plan: &Plan) -> Vec<String> {
    let Some(baseline) = plan.arms.get(plan.baseline) else {
        return Vec::new();
    };
    let reference = plan.transport_of(baseline);
    let mut found = Vec::new();
    for scenario in &plan.scenarios {
        let workload = rules(&scenario.assignment.workload);
        for arm in plan.arms.iter().filter(|arm| arm.control.is_none()) {
            let transport = plan.transport_of(arm);
            let (own, baseline_end) = (
                workload.end_of_sample(transport),
                workload.end_of_sample(reference),
            );
            if let (Some(own), Some(baseline_end)) = (own, baseline_end)
                && own != baseline_end
            {
                found.push(format!(
                    "scenario {}: a sample of {} ends {own}, and a sample of the baseline ends {baseline_end}",
                    scenario.assignment.name, arm.name
                ));
            }
        }
    }
    found
}
