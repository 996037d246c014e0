//! Status of a run: its conditions, the validity of its results, and its verdicts.
//!
//! All numbers are integers, and field names include the unit. The operator limits the length of every list and string.

mod call;
mod comparison;
mod environment;
mod optimization;
mod result;

use serde::{Deserialize, Serialize};

use super::{ConditionType, ExecutionStatus, FactorEffectResult, SweepResult};

pub use call::{CallCause, CallResult, CallSection, FootprintResult};
pub use comparison::{
    ComparisonEnd, ComparisonResult, EndReason, ExpectationOutcome, ExpectationResult, InconclusiveReason,
    Verdict, WithheldReason,
};
pub use environment::{EnvironmentSummary, FabricProof, FabricSummary, NodeResult, PairResult};
pub use optimization::{Engagement, Optimization, OptimizationResult};
pub use result::{ArmResult, CaseValidity, ProtocolResult};

/// BenchmarkRunStatus is the observed state of a BenchmarkRun.
// Atomic, because only the operator writes the status, and tracking the ownership of each field would double the size
// of the stored object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend("x-kubernetes-map-type" = "atomic")))]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkRunStatus {
    /// Generation of the spec that the status was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions of the run: Accepted, Suspended, Running, Complete, Failed, and CleanupBlocked if pods are stuck
    /// terminating.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])))]
    pub conditions: Vec<Condition>,
    /// State of the run, which summarizes the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Progress of the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// SHA-256 hash of the plan, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    /// Seed of the random measurement order: spec.sampling.seed, or a number derived from metadata.uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Nodes on which the workers ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementStatus>,
    /// Software and hardware environment of the workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSummary>,
    /// Fabric that carried the data, and how its use was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricSummary>,
    /// Measured values by scenario, size and arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ArmResult>,
    /// Results of each arm in the load sweeps, at most 32. The records and reports contain all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub sweeps: Vec<SweepResult>,
    /// Comparisons of each arm with the baseline, by scenario, size and metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonResult>,
    /// Effects of the factors in spec.factors and of their interactions, at most 128. The records and reports contain
    /// all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 128)))]
    pub factor_effects: Vec<FactorEffectResult>,
    /// Outcome of each expectation in spec.expectations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<ExpectationResult>,
    /// Pairs of nodes whose baseline results deviate most from the median of all pairs. Reported for runs with at least
    /// three pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub pairs: Vec<PairResult>,
    /// Deviation of each node from the other nodes. Reported for runs with at least three pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub nodes: Vec<NodeResult>,
    /// Outcome of a finished run. It determines the exit status of `fabricbench report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Answer of the run in one line: each variant's greatest improvement and regression with its interval and size, and
    /// the number of sizes with each verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Warnings that affect the interpretation of the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub warnings: Vec<String>,
    /// Number of values that were omitted to limit the status size. The records and reports contain them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_values: Option<u32>,
    /// Reference to the complete records of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordsReference>,
    /// Controller state that must survive an operator restart: attempts and timers. Unset for local runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionStatus>,
}

/// Condition describes one aspect of the current state of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition: Accepted, Suspended, Running, Complete, Failed or CleanupBlocked.
    #[serde(rename = "type")]
    pub type_: String,
    /// Status of the condition: True, False or Unknown.
    pub status: String,
    /// Machine-readable reason for the last transition of the condition.
    pub reason: String,
    /// Human-readable message with details about the last transition.
    pub message: String,
    /// Time at which the condition status last changed (RFC 3339).
    pub last_transition_time: String,
    /// Generation of the spec that the condition was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// Whether this condition has the type `type_`.
    pub fn has_type(&self, type_: ConditionType) -> bool {
        self.type_ == type_.as_str()
    }

    /// Whether the condition is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum State {
    /// The run is accepted, but no gang is running.
    Pending,
    /// The workers are running.
    Running,
    /// The user suspended the run.
    Suspended,
    /// Every block has been measured.
    Complete,
    /// The run failed and will not be retried.
    Failed,
}

/// Progress of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Number of blocks whose records are complete and verified.
    pub blocks_done: u32,
    /// Number of blocks to measure: all blocks of the plan, except those that were skipped.
    pub blocks_total: u32,
    /// Number of planned blocks that were skipped because all comparisons that need them have ended. Unset unless
    /// sampling.stop is Settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_skipped: Option<u32>,
    /// Percentage of the planned cases that were skipped because their comparisons have ended. Unset unless
    /// sampling.stop is Settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_percent: Option<u32>,
    /// Measured blocks out of all blocks to measure, such as `12/240`.
    pub text: String,
}

/// Nodes on which the workers ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// Names of the nodes. They are sorted by name for a run in a cluster, where ranks can change between legs, and by
    /// rank for a local run.
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub nodes: Vec<String>,
}

/// Outcome of a finished run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum Outcome {
    /// The run is complete, no expectation was missed, and no variant regressed. `fabricbench report` exits with status
    /// 0.
    Passed,
    /// The run is complete, and an expectation was missed or a regression was found. `fabricbench report` exits with
    /// status 1.
    Missed,
    /// The run is complete, but a control shows a change at one or more sizes, so the verdicts at these sizes are
    /// withheld. Repeat the run. `fabricbench report` exits with status 3.
    Suspect,
    /// The run is not complete, or a requested result is not valid. `fabricbench report` exits with status 3.
    Untrusted,
}

/// Reference to the complete records of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordsReference {
    /// Name of the file or object that contains the records.
    pub reference: String,
    /// SHA-256 hash of the file, or digest of the record chain in the ConfigMaps, in hexadecimal.
    pub sha256: String,
}
