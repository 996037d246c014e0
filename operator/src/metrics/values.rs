//! Metric values of one run, held in memory while the run exists. Performs no I/O.
//!
//! Names are stored once per run and numbers as integers in the units of the status. Values beyond the series limit are
//! not stored.

mod names;
pub(super) mod row;
pub(super) mod run;

use crds::v1alpha1::{ConditionType, FabricProof, Outcome, State};

pub(super) use names::NameTable;
pub(super) use names::Names;
pub(super) use row::{ArmValues, ComparisonValues, OPTIMIZATIONS, PairValues, Row};

/// Metric values of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunValues {
    /// Namespace of the run; empty for a local run.
    pub namespace: Box<str>,
    /// Name of the run.
    pub name: Box<str>,
    /// Creation time, in seconds since the Unix epoch.
    pub created: Option<i64>,
    /// Finish time, in seconds since the Unix epoch.
    pub finished: Option<i64>,
    /// State of the run.
    pub state: Option<State>,
    /// Outcome of the run.
    pub outcome: Option<Outcome>,
    /// Conditions of the run.
    pub conditions: Box<[ConditionValue]>,
    /// Number of measured blocks and number of blocks in the plan.
    pub blocks: Option<(u32, u32)>,
    /// Provider, as reported by the library; empty before the first measured case.
    pub provider: Box<str>,
    /// Baseline name.
    pub baseline: Box<str>,
    /// Worker environment, as distinct pairs of kind and value.
    pub environment: Box<[(&'static str, Box<str>)]>,
    /// Distinct nodes of the workers.
    pub nodes: Box<[Box<str>]>,
    /// Deviation of each node from the median pair, in parts per million.
    pub node_deviations: Box<[(Box<str>, i64)]>,
    /// Level of proof that the data was transferred over the requested fabric.
    pub proof: Option<FabricProof>,
    /// Counts of met, unmet and inconclusive expectations.
    pub expectations: [u32; 3],
    /// Names of scenarios, arms and nodes to which the rows refer.
    pub names: Names,
    /// Measured values, most important first.
    pub rows: Box<[Row]>,
    /// Number of values that are omitted from this struct or from the status.
    pub omitted: u32,
}

/// Condition of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionValue {
    /// Type of the condition.
    pub type_: ConditionType,
    /// Whether the condition is true.
    pub is_true: bool,
    /// Reason for the condition.
    pub reason: Box<str>,
}
