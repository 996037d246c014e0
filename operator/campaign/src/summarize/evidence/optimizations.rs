//! Evidence for optimizations, from posting counters and interface counters. Each optimization has its own module.

mod coalesce;
mod doorbell;
mod inject;

use crds::record::{Measurement, PostingCounters};
use crds::v1alpha1::{Engagement, Optimization};
use serde::Serialize;

use crate::plan::Cell;

/// Evidence of whether an optimization engaged for an arm at a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The optimization.
    pub optimization: Optimization,
    /// Whether the optimization engaged.
    pub engagement: Engagement,
    /// Reason for this result.
    pub reason: String,
}

/// Assesses every optimization that the cell `planned` requests, based on the cell's `valid` cases and their combined
/// `counters`. `rails` is the number of rails of each GPU, and `inline_bytes` is the size of the largest message that
/// fits into a work request of the device, if known. `over_verbs` is true for an arm that calls ibverbs directly.
///
/// Returns an empty list if there are no valid cases, because missing observations are not evidence.
pub(in crate::summarize) fn cell_evidence(
    planned: &Cell,
    baseline: Option<&Cell>,
    counters: &PostingCounters,
    valid: &[&Measurement],
    rails: u32,
    inline_bytes: Option<u64>,
    over_verbs: bool,
) -> Vec<Evidence> {
    if valid.is_empty() {
        return Vec::new();
    }
    let assess = |requested: &crate::posting::PlannedOptimization| {
        let (engagement, reason) = match &requested.not_applicable {
            Some(reason) => (Engagement::NotApplicable, reason.clone()),
            None => match requested.optimization {
                Optimization::Inject => {
                    let method = inject::InjectMethod::new(planned.chunk_bytes, inline_bytes);
                    inject::assess(counters, method, over_verbs)
                }
                Optimization::Doorbell => doorbell::assess(counters, over_verbs),
                Optimization::Coalesce => coalesce::assess(planned, baseline, counters, valid, rails),
            },
        };
        Evidence {
            optimization: requested.optimization,
            engagement,
            reason,
        }
    };
    planned.optimizations.iter().map(assess).collect()
}
