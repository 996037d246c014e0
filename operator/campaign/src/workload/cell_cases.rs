//! The cases from which a workload computes its own results.

use crds::record::Measurement;
use crds::v1alpha1::ManyToMany;

use crate::collect::Case;
use crate::plan::PlannedScenario;
use crate::summarize::{CaseCheck, Rounds};

/// Recorded cases of an arm at one size.
pub struct CellCases<'a> {
    /// The scenario.
    pub scenario: &'a PlannedScenario,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Senders and receivers of the many-to-many pattern; `None` for pairs.
    pub many_to_many: Option<ManyToMany>,
    /// All cases, each with its validity.
    pub cases: &'a [(&'a Case, &'a CaseCheck)],
    /// The valid cases by round.
    pub rounds: &'a Rounds<'a>,
    /// Longest time of one reading of the clock on all workers, in nanoseconds; `None` if no worker reported it.
    pub clock_nanos: Option<f64>,
    /// Median of all samples, in nanoseconds; `None` if there are none.
    pub median_nanos: Option<u64>,
}

impl CellCases<'_> {
    /// The valid cases with their measurements.
    pub fn valid(&self) -> impl Iterator<Item = (&Case, &Measurement)> {
        let valid = self.cases.iter().filter(|(_, check)| check.is_valid());
        valid.filter_map(|(case, _)| Some((*case, case.measurement()?)))
    }
}
