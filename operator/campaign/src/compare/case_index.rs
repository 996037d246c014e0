//! Finds the valid measured cases that share one value. Performs no I/O.

use std::collections::BTreeMap;

use crds::assignment::Pass;
use crds::record::{CaseResult, Measurement};

use crate::collect::Reports;
use crate::plan::Plan;
use crate::summarize::Summary;

/// Key of the cases that share one value: scenario, size, arm, round, and the ranks of a pair, which are the same for
/// all flows of the many-to-many pattern.
pub(super) type CaseKey = (usize, u64, usize, u32, (u32, u32));

/// Valid measured cases that share one value: one case, or all flows of the many-to-many pattern.
pub(super) type CasesOfOneValue<'a> = Vec<&'a Measurement>;

/// The valid measured cases of a run by scenario, size, arm, round and pair.
pub(super) type CaseIndex<'a> = BTreeMap<CaseKey, CasesOfOneValue<'a>>;

/// Indexes the valid measured cases.
pub(super) fn case_index<'a>(plan: &Plan, reports: &'a Reports, summary: &Summary) -> CaseIndex<'a> {
    let cases = reports.cases.iter().zip(&summary.validities);
    let valid = cases.filter(|(case, validity)| case.pass == Pass::Measure && validity.is_valid());
    let mut index = CaseIndex::new();
    for (case, _) in valid {
        if let CaseResult::Measured(measured) = &case.outcome {
            let key = (
                case.scenario,
                case.size_bytes,
                case.arm,
                case.round,
                plan.ranks_sharing_a_value(case.initiator, case.target),
            );
            index.entry(key).or_default().push(measured.as_ref());
        }
    }
    index
}
