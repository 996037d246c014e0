//! Comparisons with the baseline, and the expectations about them.

use serde::{Deserialize, Serialize};

use crate::v1alpha1::Metric;

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum Verdict {
    /// The whole confidence interval lies beyond the margin, in the direction of an improvement.
    Improved,
    /// The whole confidence interval lies within the margin.
    NoChange,
    /// The whole confidence interval lies beyond the margin, in the direction of a regression.
    Regressed,
    /// The measurements do not support any other verdict.
    Inconclusive,
}

/// Reason for withholding the verdict on a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum WithheldReason {
    /// No round contains valid cases of both the variant and the baseline.
    NotMeasured,
    /// The data of a case did not use the requested fabric.
    FabricContradicted,
    /// The legs of the variant and the baseline ran on different nodes or devices.
    DifferentDevices,
    /// A control arm or a negative control shows a change.
    ControlViolated,
    /// A requested optimization was not active.
    NotEngaged,
    /// No optimization that the variant requests applies at this size.
    NotApplicable,
    /// The run has several analyses, and the first one has not taken place.
    NotAnalyzed,
    /// Other traffic used the network interfaces, and the run withholds verdicts in this case.
    InterfaceShared,
}

/// Cause of an inconclusive verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum InconclusiveReason {
    /// The last digit of the values that the tool printed does not support any other verdict, regardless of the number
    /// of rounds.
    Resolution,
    /// The interval of a control extends beyond the margin, so that an equivalence cannot be shown on this machine.
    Noise,
}

/// Comparison of one arm with the baseline at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComparisonResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the variant or control arm.
    pub arm: String,
    /// Compared metric.
    pub metric: Metric,
    /// Whether the verdict is based on this metric.
    pub primary: bool,
    /// Whether the arms are identical at this size, so that any measured effect is noise.
    pub negative_control: bool,
    /// Number of rounds in which the cases of both arms are valid.
    pub rounds: u32,
    /// Change relative to the baseline, in parts per million. A positive value is an increase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_ppm: Option<i64>,
    /// Lower bound of the simultaneous confidence interval, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_ppm: Option<i64>,
    /// Upper bound of the simultaneous confidence interval, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_ppm: Option<i64>,
    /// Minimum detectable effect, in parts per million: the smallest change that this number of rounds detects with a
    /// statistical power of 80 percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_detectable_ppm: Option<u64>,
    /// Verdict of the comparison. Unset if the verdict is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Reason for withholding the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldReason>,
    /// Cause of an inconclusive verdict, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconclusive: Option<InconclusiveReason>,
    /// Explanation of a withheld or qualified verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Estimated number of rounds required to resolve an inconclusive verdict. Unset if it cannot be estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_to_settle: Option<u32>,
    /// When and why the comparison ended early. Unset if it ran to the last round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<ComparisonEnd>,
}

/// How a comparison ended at an analysis before the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComparisonEnd {
    /// Number of rounds included in the analysis that ended the comparison.
    pub rounds: u32,
    /// Reason for ending the comparison.
    pub reason: EndReason,
}

/// Reason for ending a comparison before the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum EndReason {
    /// The verdict and all expectations are decided.
    Settled,
    /// For every effect within the confidence interval, the probability that a later analysis decides the comparison is
    /// less than 10 percent.
    Futile,
    /// The comparison cannot have a verdict, for example because a requested optimization was not active.
    NoVerdict,
}

/// Outcome of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum ExpectationOutcome {
    /// The whole confidence interval is at or above the expected minimum at every size.
    Met,
    /// The whole confidence interval is below the expected minimum at one or more sizes.
    NotMet,
    /// The measurements do not show whether the expectation is met.
    Inconclusive,
}

/// Result of one expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExpectationResult {
    /// Index of the expectation in spec.expectations.
    pub index: u32,
    /// Expectation as a human-readable string.
    pub text: String,
    /// Outcome of the expectation.
    pub outcome: ExpectationOutcome,
    /// Explanation of the outcome, including the sizes that determine it.
    pub reason: String,
}
