//! Optimizations and whether they engaged.

use serde::{Deserialize, Serialize};

/// Optimization that a variant requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Optimization {
    /// Inject calls for small messages.
    Inject,
    /// FI_MORE on all posts of a burst except the last.
    Doorbell,
    /// Fewer rails for mid-size transfers.
    Coalesce,
}

impl Optimization {
    /// Name in the spec, in variant names and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inject => "inject",
            Self::Doorbell => "doorbell",
            Self::Coalesce => "coalesce",
        }
    }
}

/// Whether an optimization was active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Engagement {
    /// Independent evidence shows that the optimization was active.
    Confirmed,
    /// The optimization was requested, but the provider reports no evidence of its use.
    RequestedOnly,
    /// The provider rejected the optimization, or messages exceeded its limit.
    NotEngaged,
    /// The optimization cannot have an effect, for example with one rail, one post per burst, or device memory.
    NotApplicable,
}

/// Whether an optimization of one arm was active at one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OptimizationResult {
    /// Optimization that the arm requests.
    pub optimization: Optimization,
    /// Whether the optimization was active.
    pub engagement: Engagement,
    /// Explanation of the engagement.
    pub reason: String,
}
