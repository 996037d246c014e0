//! Determines which arms a run still has to measure after the analyses so far. Performs no I/O.
//!
//! A run with several analyses is divided into stages. A comparison *asks a question* if it gets a verdict or an
//! expectation names it. It is *open* until an analysis ends it. In each stage after the first, an arm with
//! [`Role::Variant`] at a size is measured at that size only while its comparison is open; all other arms, including
//! the baseline, are measured at a size while any comparison at that size is open. Blocks and arms that are not needed
//! count as skipped, not as missing. A run with a single analysis measures everything.

mod progress;
mod reduce;

use std::collections::{BTreeMap, BTreeSet};

use crds::units::Size;
use crds::v1alpha1::{EndReason, Expectation};
use serde::Serialize;

use crate::plan::{Plan, Role};
pub use progress::Progress;

/// Index of the scenario, size in bytes and index of the arm.
pub type ComparisonKey = (usize, u64, usize);

/// A run's analyses so far, and the comparisons that they ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stopping {
    analyses: usize,
    ended: BTreeMap<ComparisonKey, EarlyEnd>,
}

/// Early end of a comparison, at an analysis before the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlyEnd {
    /// Index of the analysis in [`Plan::analyses`].
    pub analysis: usize,
    /// Number of rounds that the analysis includes.
    pub rounds: u32,
    /// Reason for ending the comparison.
    pub reason: EndReason,
}

impl Stopping {
    /// Number of completed analyses.
    pub fn analyses(&self) -> usize {
        self.analyses
    }

    /// Adds the next analysis of `plan`, which ends the comparisons in `ended`.
    pub(crate) fn add_analysis(
        &mut self,
        plan: &Plan,
        ended: impl IntoIterator<Item = (ComparisonKey, EndReason)>,
    ) {
        let analysis = self.analyses;
        let rounds = plan.analyses.get(analysis).copied().unwrap_or(plan.rounds);
        let ends = ended.into_iter().map(|(key, reason)| {
            let ended = EarlyEnd {
                analysis,
                rounds,
                reason,
            };
            (key, ended)
        });
        self.ended.extend(ends);
        self.analyses += 1;
    }

    /// The end of a comparison; `None` if no analysis ended it before the last round.
    pub fn early_end(&self, key: ComparisonKey) -> Option<EarlyEnd> {
        self.ended.get(&key).copied()
    }

    /// Last round that the current results of a comparison include: the last round of the analysis at which it ended,
    /// or of the most recent analysis. Later rounds are excluded, because the level of the intervals is divided among
    /// the planned analyses and holds only at those analyses. `None` if the run has a single analysis, which includes
    /// all measured rounds, or if no analysis is complete.
    pub fn last_round(&self, plan: &Plan, key: ComparisonKey) -> Option<u32> {
        let last = *plan.analyses.get(self.analyses.checked_sub(1)?)?;
        Some(self.early_end(key).map_or(last, |ended| ended.rounds))
    }

    /// Number of rounds at the first analysis, if the run has several analyses and has not completed the first, so that
    /// no verdict is allowed yet.
    pub fn awaited_first_analysis(&self, plan: &Plan) -> Option<u32> {
        let first = plan.analyses.first().copied();
        first.filter(|_| plan.analyses.len() > 1 && self.analyses == 0)
    }

    /// Comparisons that ask a question and that no analysis has ended.
    pub(crate) fn open<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = ComparisonKey> {
        questions(plan).filter(|key| !self.ended.contains_key(key))
    }

    /// Cells that are measured in `stage`, in ascending order of their keys. They depend only on the analyses before
    /// that stage.
    fn needed_cells(&self, plan: &Plan, stage: usize) -> BTreeSet<ComparisonKey> {
        let ended_before =
            |key: &ComparisonKey| self.early_end(*key).is_some_and(|ended| ended.analysis < stage);
        let open: BTreeSet<ComparisonKey> = questions(plan).filter(|key| !ended_before(key)).collect();
        let is_needed = |(scenario, size_bytes, arm): &ComparisonKey| {
            let role = plan.cell(*scenario, *size_bytes, *arm).and_then(|cell| cell.role);
            let size_keys = (*scenario, *size_bytes, 0)..=(*scenario, *size_bytes, usize::MAX);
            match role {
                _ if stage == 0 => true,
                Some(Role::Variant) => open.contains(&(*scenario, *size_bytes, *arm)),
                _ => open.range(size_keys).next().is_some(),
            }
        };
        cells(plan).filter(is_needed).collect()
    }
}

/// Keys of all cells of `plan`, including those of the baseline.
fn cells(plan: &Plan) -> impl Iterator<Item = ComparisonKey> {
    let scenarios = plan.scenarios.iter().enumerate();
    scenarios.flat_map(|(index, scenario)| {
        let cells = scenario.cells.iter();
        cells.map(move |cell| (index, cell.size_bytes, cell.arm))
    })
}

/// Comparisons that get a verdict or have an expectation.
fn questions(plan: &Plan) -> impl Iterator<Item = ComparisonKey> {
    cells(plan).filter(|key| {
        let role = plan.cell(key.0, key.1, key.2).and_then(|cell| cell.role);
        role == Some(Role::Variant) || (role.is_some() && expectations(plan, *key).next().is_some())
    })
}

/// Expectations about the comparison `key`, on any metric.
pub(crate) fn expectations(plan: &Plan, key: ComparisonKey) -> impl Iterator<Item = &Expectation> {
    let (scenario, size_bytes, arm) = key;
    let scenario = plan
        .scenarios
        .get(scenario)
        .map(|scenario| &scenario.assignment.name);
    let arm = plan.arms.get(arm).map(|arm| &arm.name);
    plan.expectations.iter().filter(move |expectation| {
        let sizes = expectation.sizes;
        (Some(&expectation.scenario), Some(&expectation.variant)) == (scenario, arm)
            && sizes.is_none_or(|sizes| sizes.contains(Size(size_bytes)))
    })
}
