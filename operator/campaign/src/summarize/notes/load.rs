//! Warnings about arms that fall behind an open loop's schedule.

use std::collections::BTreeMap;

use crds::assignment::Pass;
use crds::record::CaseResult;

use crate::collect::Reports;
use crate::format;
use crate::plan::Plan;
use crate::summarize::values::load::{completed_share, falls_behind};

/// Returns a warning for every scenario, size and arm with cases that fell behind, except in a sweep, whose purpose is
/// to find the rate at which the arms fall behind.
pub(super) fn warnings(plan: &Plan, reports: &Reports) -> Vec<String> {
    let mut cases: BTreeMap<(usize, u64, usize), (u32, u32)> = BTreeMap::new();
    for case in reports.cases.iter().filter(|case| case.pass == Pass::Measure) {
        let CaseResult::Measured(measured) = &case.outcome else {
            continue;
        };
        let scenario = plan.scenarios.get(case.scenario);
        let Some(scenario) = scenario.filter(|scenario| scenario.sweep.is_none()) else {
            continue;
        };
        if let Some(share) = completed_share(&scenario.assignment.workload, measured) {
            let key = (case.scenario, case.size_bytes, case.arm);
            let (behind, all) = cases.entry(key).or_default();
            *behind += u32::from(falls_behind(share));
            *all += 1;
        }
    }
    let affected = cases.into_iter().filter(|(_, (behind, _))| *behind > 0);
    let described = affected.filter_map(|((scenario, size_bytes, arm), (behind, all))| {
        let planned = plan.scenarios.get(scenario)?;
        Some(format!(
            "{} at {}: arm \"{}\" fell behind its schedule of {} {}/s per thread in {behind} of {all} cases, so its \
             latencies grow with the length of the window: lower load.openLoop.rate",
            planned.assignment.name,
            format::size(size_bytes),
            plan.arm_name(arm),
            planned.rate()?,
            planned.assignment.workload.started(),
        ))
    });
    described.collect()
}
