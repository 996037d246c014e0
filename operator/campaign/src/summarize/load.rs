//! Completed share of open loops, and warnings about open loops whose rate an arm cannot sustain.

use std::collections::BTreeMap;

use crds::assignment::{Pass, Workload};

use crate::collect::{CaseOutcome, Measured, Reports, SidePosts};
use crate::format;
use crate::plan::Plan;

/// Fraction of the intended duration by which an open loop may take longer.
const TOLERANCE: f64 = 0.05;

/// Whether the transfers of an open loop took longer than intended, so that the wait before each start keeps growing
/// and the latencies depend on the length of the window.
///
/// The median latency is subtracted, because the last transfer completes one latency after its intended start.
fn is_saturated(posted: &SidePosts) -> Option<bool> {
    let intended = posted.open_loop?.intended_nanos as f64;
    let median = posted.latency.quantile(0.5)? as f64;
    Some(posted.elapsed_nanos as f64 - median > intended * (1.0 + TOLERANCE))
}

/// Completed rate of an open loop as a fraction of its intended rate: the intended duration divided by the measured one,
/// less the smallest latency, because even without load the last transfer completes one latency after its intended
/// start. Of two posting sides, the smaller fraction counts. `None` if the workload is not an open loop.
pub(super) fn completed_share(workload: &Workload, measured: &Measured) -> Option<f64> {
    let share = |posted: &SidePosts| {
        let intended = posted.open_loop?.intended_nanos;
        let elapsed = posted.elapsed_nanos.saturating_sub(posted.min_nanos);
        (intended > 0 && elapsed > 0).then(|| intended as f64 / elapsed as f64)
    };
    let shares: Option<Vec<f64>> = measured.posters(workload).map(share).collect();
    shares?.into_iter().min_by(f64::total_cmp)
}

/// Returns a warning for every scenario, size and arm with saturated cases, except in a sweep, which saturates the arms
/// on purpose.
pub(super) fn warnings(plan: &Plan, reports: &Reports) -> Vec<String> {
    let mut cases: BTreeMap<(usize, u64, usize), (u32, u32)> = BTreeMap::new();
    for case in reports.cases.iter().filter(|case| case.pass == Pass::Measure) {
        let CaseOutcome::Measured(measured) = &case.outcome else {
            continue;
        };
        let scenario = plan.scenarios.get(case.scenario);
        let Some(scenario) = scenario.filter(|scenario| scenario.sweep.is_none()) else {
            continue;
        };
        let posters = measured.posters(&scenario.assignment.workload);
        let answers: Vec<bool> = posters.filter_map(is_saturated).collect();
        if !answers.is_empty() {
            let key = (case.scenario, case.size_bytes, case.arm);
            let (saturated, all) = cases.entry(key).or_default();
            *saturated += u32::from(answers.contains(&true));
            *all += 1;
        }
    }
    let saturated = cases.into_iter().filter(|(_, (saturated, _))| *saturated > 0);
    let described = saturated.filter_map(|((scenario, size_bytes, arm), (saturated, all))| {
        let planned = plan.scenarios.get(scenario)?;
        let Workload::Transfer(transfer) = &planned.assignment.workload else {
            return None;
        };
        Some(format!(
            "{} at {}: arm \"{}\" could not sustain {} transfers/s per thread in {saturated} of {all} cases, so its \
             latencies grow with the length of the window: lower load.openLoop.rate",
            planned.assignment.name,
            format::size(size_bytes),
            plan.arms.get(arm)?.name,
            transfer.open_loop?.rate,
        ))
    });
    described.collect()
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::record::OpenLoopReport;

    use super::*;
    use crate::stats::Distribution;

    fn posted(elapsed_nanos: u64, intended_nanos: u64, latency: u64) -> SidePosts {
        let mut histogram = Histogram::new();
        histogram.record(latency);
        SidePosts {
            elapsed_nanos,
            latency: Distribution::with_maximum(&histogram, latency),
            open_loop: Some(OpenLoopReport {
                intended_nanos,
                late: 0,
            }),
            ..SidePosts::default()
        }
    }

    #[test]
    fn load_is_saturated_if_the_transfers_take_longer_than_intended() {
        assert_eq!(is_saturated(&posted(20_010_000, 20_000_000, 10_000)), Some(false));
        // A long latency alone is no saturation.
        assert_eq!(
            is_saturated(&posted(25_000_000, 20_000_000, 5_000_000)),
            Some(false)
        );
        assert_eq!(
            is_saturated(&posted(40_000_000, 20_000_000, 10_000_000)),
            Some(true)
        );
        let closed = SidePosts {
            open_loop: None,
            ..posted(1, 1, 1)
        };
        assert_eq!(is_saturated(&closed), None);
    }
}
