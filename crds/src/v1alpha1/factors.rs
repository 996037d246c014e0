//! Factors: optimizations whose combinations are all measured, and their effects in the run status.

use serde::{Deserialize, Serialize};

use super::{Doorbell, Inject, Optimization, Verdict};
use crate::units::Size;

/// Optimizations to combine. Every combination is measured, in addition to the baseline without any of them. Each
/// combination becomes a variant whose name consists of the names of its optimizations, such as `inject-doorbell`. At
/// least two factors are required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("[has(self.inject), has(self.doorbell), has(self.coalesce)].filter(x, x).size() >= 2").message("at least two of inject, doorbell and coalesce must be set; specify a single optimization as a variant"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Factors {
    /// Use of inject calls (FI_INJECT) for small messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
    /// Doorbell batching (FI_MORE): one doorbell for several posts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbell: Option<Doorbell>,
    /// Coalescing: fewer rails for mid-size transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalesce: Option<Coalesce>,
}

impl Factors {
    /// Maximum number of factors.
    pub const MAX: usize = 3;

    /// The factors in their fixed order.
    pub fn optimizations(&self) -> Vec<Optimization> {
        let present = [
            (self.inject.is_some(), Optimization::Inject),
            (self.doorbell.is_some(), Optimization::Doorbell),
            (self.coalesce.is_some(), Optimization::Coalesce),
        ];
        let present = present.into_iter().filter(|(present, _)| *present);
        present.map(|(_, optimization)| optimization).collect()
    }
}

/// Coalescing of transfers with the NixlCoalesce striping policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Coalesce {
    /// Minimum chunk size. Defaults to the value in spec.striping or, if that is unset, to 16Ki.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_chunk_bytes: Option<Size>,
}

/// Effect of one factor or of several factors together on the primary metric of a scenario at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FactorEffectResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Kind of effect.
    pub kind: FactorEffectKind,
    /// Factors that the effect involves.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 3)))]
    pub factors: Vec<Optimization>,
    /// Number of rounds in which all combinations are valid.
    pub rounds: u32,
    /// Effect, in parts per million of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_ppm: Option<i64>,
    /// Lower bound of the interval, in parts per million. The intervals of all effects in a scenario hold
    /// simultaneously.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_ppm: Option<i64>,
    /// Upper bound of the interval, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_ppm: Option<i64>,
    /// Verdict. For an interaction or a combination, NoChange means that the joint effect of the factors equals the
    /// product of their separate effects, and Improved means that it is better. Unset if the verdict is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Reason that the verdict is withheld or that there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Kind of factor effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum FactorEffectKind {
    /// Change caused by one factor, as the geometric mean over all combinations of the other factors.
    Main,
    /// Change in the effect of one factor caused by another, as the geometric mean over the combinations of the
    /// remaining factor. For three factors, the change in the interaction of two of them caused by the third.
    Interaction,
    /// The effect of all factors together relative to the product of their separate effects.
    Combination,
}
