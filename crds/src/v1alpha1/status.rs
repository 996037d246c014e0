//! What a run answers: whether it ran, whether its numbers can be trusted, and what they say.
//!
//! Integers with the unit in the field's name; every list and text is bounded by the writer.

use serde::{Deserialize, Serialize};

use super::{ConditionType, ExecutionStatus, Metric};

/// Status of a run.
// One value to field managers, as nobody but the operator writes it: an API server that kept account of each of its
// fields would store as much again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend("x-kubernetes-map-type" = "atomic")))]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkRunStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Accepted`, `Suspended`, `Running`, `Complete`, `Failed`, and `CleanupBlocked` where pods do not go.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])))]
    pub conditions: Vec<Condition>,
    /// The conditions in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// How far the run is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// SHA-256 of the plan, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    /// Where the workers ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementStatus>,
    /// What the workers ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSummary>,
    /// Which fabric carried the bytes, and how that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricSummary>,
    /// What was measured, by scenario, size and arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ArmResult>,
    /// What the measurements say of each variant against the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonResult>,
    /// What became of each expectation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<ExpectationResult>,
    /// Pairs of nodes whose baseline deviates most from the median pair; where there are at least three pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub pairs: Vec<PairResult>,
    /// How much worse each node is than the others; where there are at least three pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub nodes: Vec<NodeResult>,
    /// What a finished run comes to: the exit status of its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What the comparisons say, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Highest throughput of any variant, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<String>,
    /// What a reader must know before trusting the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub warnings: Vec<String>,
    /// Numbers of results and comparisons that are only in the records and reports, so that the status stays small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_values: Option<u32>,
    /// Where the full records are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordsReference>,
    /// What a controller must remember of the run: attempts and clocks. Left out on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionStatus>,
}

/// One condition, as everywhere in Kubernetes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Accepted`, `Suspended`, `Running`, `Complete`, `Failed` or `CleanupBlocked`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A closed word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// When `status` last changed (RFC 3339).
    pub last_transition_time: String,
    /// Generation of the spec that it speaks of.
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

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum State {
    /// Accepted, no worker yet.
    Pending,
    /// Workers run.
    Running,
    /// Stopped by its user.
    Suspended,
    /// All blocks are measured.
    Complete,
    /// It cannot go on.
    Failed,
}

/// Blocks done of all blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Blocks whose last record verified.
    pub blocks_done: u32,
    /// Blocks of the plan.
    pub blocks_total: u32,
    /// Both, as `12/240`.
    pub text: String,
}

/// Where the workers ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// Node of each worker: by rank on one machine, sorted in a cluster, where ranks change places between legs.
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub nodes: Vec<String>,
}

/// What the workers ran on; the records hold every detail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSummary {
    /// Kernel releases of the workers.
    pub kernels: Vec<String>,
    /// CPU models of the workers.
    pub cpu_models: Vec<String>,
    /// Libraries that were loaded, with version and path.
    pub libraries: Vec<String>,
    /// How sides waited for completions.
    pub polling: Vec<String>,
}

/// Which fabric carried the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FabricSummary {
    /// The weakest proof of any measured case, valid or not.
    pub proof: FabricProof,
    /// Provider, as the library returned it.
    pub provider: String,
    /// Why the proof is what it is.
    pub reason: String,
    /// Bytes the interfaces counted while cases were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_bytes: Option<u64>,
    /// Payload bytes of the same cases.
    pub payload_bytes: u64,
}

/// How it is known that the bytes used the fabric that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum FabricProof {
    /// Counters that the runner cannot fake show other bytes than claimed.
    Contradicted,
    /// Only the library's word.
    Declared,
    /// Byte counters of the interfaces cover the payload.
    Verified,
}

/// An optimization that a variant asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Optimization {
    /// Inject calls for small messages.
    Inject,
    /// FI_MORE on all but the last post of a burst.
    Doorbell,
    /// Fewer rails for mid-size transfers.
    Coalesce,
}

/// Whether an optimization took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Engagement {
    /// Seen in something that our own request cannot fake.
    Confirmed,
    /// Asked for, and the provider gives no sign.
    RequestedOnly,
    /// Refused, or over the limit.
    NotEngaged,
    /// It could not apply: one rail, one post a burst, device memory.
    NotApplicable,
}

/// One optimization in one arm at one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OptimizationResult {
    /// Which.
    pub optimization: Optimization,
    /// Whether it took part.
    pub engagement: Engagement,
    /// Why that is known, or why not.
    pub reason: String,
}

/// Whether a case's numbers can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CaseValidity {
    /// They can.
    Valid,
    /// They cannot; the reason stands beside.
    Invalid,
}

/// What one arm did at one size, over all rounds and pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ArmResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size.
    pub size_bytes: u64,
    /// Name of the variant, or of a control arm.
    pub arm: String,
    /// Rounds with a valid case.
    pub valid_rounds: u32,
    /// Whether the arm has any number to trust here.
    pub validity: CaseValidity,
    /// Why cases are invalid, where any is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Median latency; one-way for ping-pong, post to completion for transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_nanos: Option<u64>,
    /// 95th percentile of latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_nanos: Option<u64>,
    /// 99th percentile of latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_nanos: Option<u64>,
    /// 99.9th percentile of latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_nanos: Option<u64>,
    /// Smallest latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_nanos: Option<u64>,
    /// Largest latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_nanos: Option<u64>,
    /// Payload bytes a second; the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Completed operations a second; the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions_per_second: Option<u64>,
    /// CPU time of both sides for a GiB of payload; the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_nanos_per_gib: Option<u64>,
    /// Whether each optimization the arm asks for took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optimizations: Vec<OptimizationResult>,
    /// How it is known that the bytes used the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricProof>,
}

/// One meaning each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The whole interval lies beyond the margin, on the better side.
    Improved,
    /// The whole interval lies inside the margin.
    NoChange,
    /// The whole interval lies beyond the margin, on the worse side.
    Regressed,
    /// Everything else.
    Inconclusive,
}

/// Why a variant has no verdict at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum WithheldReason {
    /// It, or the baseline, has no valid round, or no round has both valid.
    NotMeasured,
    /// Bytes of some case did not use the fabric that was asked for.
    FabricContradicted,
    /// Its legs and those of the baseline ran on different nodes or devices.
    DifferentDevices,
    /// A control shows a change where there can be none.
    ControlViolated,
    /// An optimization that should have taken part did not.
    NotEngaged,
}

/// What the measurements say of one arm against the baseline at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComparisonResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size.
    pub size_bytes: u64,
    /// Name of the variant, or of a control arm.
    pub arm: String,
    /// What is compared.
    pub metric: Metric,
    /// Whether the verdict is read off this metric.
    pub primary: bool,
    /// Whether the arms are identical here, by plan or because this is a control arm: the effect is noise.
    pub negative_control: bool,
    /// Rounds in which both arms are valid.
    pub rounds: u32,
    /// Change against the baseline in parts per million of it; above 0 means larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_ppm: Option<i64>,
    /// Lower end of the simultaneous interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_ppm: Option<i64>,
    /// Upper end of the simultaneous interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_ppm: Option<i64>,
    /// Smallest change that these rounds would have shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_detectable_ppm: Option<u64>,
    /// The verdict, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What kind of reason withholds the verdict of a variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldReason>,
    /// Why there is no verdict, or what qualifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Rounds that would settle an `Inconclusive`; left out where no number of rounds is in sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_to_settle: Option<u32>,
}

/// What became of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum ExpectationOutcome {
    /// The whole interval reaches the expected minimum, at every size.
    Met,
    /// At some size the whole interval falls short of it.
    NotMet,
    /// Neither is shown.
    Inconclusive,
}

/// What became of one expectation at its sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExpectationResult {
    /// Its place in the spec.
    pub index: u32,
    /// The expectation in words.
    pub text: String,
    /// What became of it.
    pub outcome: ExpectationOutcome,
    /// Why, with the sizes that decide it.
    pub reason: String,
}

/// How far one pair of nodes is from the others: the baseline on the scenario's primary metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PairResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size.
    pub size_bytes: u64,
    /// Node that posts.
    pub initiator: String,
    /// Node that is addressed.
    pub target: String,
    /// The pair's median of the rounds against the median of all pairs, in parts per million of it; above 0 means larger.
    pub deviation_ppm: i64,
}

/// How much worse one node is than the others: the baseline on the primary metrics of all scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeResult {
    /// Name of the node.
    pub name: String,
    /// How much worse the median of its pairs, scenarios and sizes is than the median pair, in parts per million of it; below
    /// 0 it is better.
    pub deviation_ppm: i64,
}

/// What a finished run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Outcome {
    /// Complete, and no expectation was missed: `fabricbench report` ends with 0.
    Passed,
    /// Complete, and an expectation was missed or a regression was found: it ends with 1.
    Missed,
    /// Not complete, or some number that was asked for cannot be trusted: it ends with 3.
    Untrusted,
}

/// Where the full records are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordsReference {
    /// A file's or object's name.
    pub reference: String,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}
