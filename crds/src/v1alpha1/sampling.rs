//! How often everything is repeated, and how sure a verdict must be.

use serde::{Deserialize, Serialize};

/// How often everything is repeated, and how sure a verdict must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sampling {
    /// Repeats of everything in fresh processes: the statistical unit. Where left out, four more than the fewest
    /// with which a verdict over the scenario's comparisons is possible. 1 to 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 60)))]
    pub rounds: Option<u32>,
    /// Seed of every random choice. Default 42, at most 9007199254740991.
    #[serde(default = "default_seed")]
    #[cfg_attr(feature = "crd", schemars(range(max = 9_007_199_254_740_991_u64)))]
    pub seed: u64,
    /// Confidence of all intervals of a scenario together. Default 95, 80 to 99.
    #[serde(default = "default_confidence")]
    #[cfg_attr(feature = "crd", schemars(range(min = 80, max = 99)))]
    pub confidence_percent: u32,
    /// A change within this margin counts as none. Default 2, 1 to 50.
    #[serde(default = "default_margin")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 50)))]
    pub margin_percent: u32,
    /// Whether a second copy of the baseline runs as the noise floor. Default true.
    #[serde(default = "yes")]
    pub control: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            rounds: None,
            seed: default_seed(),
            confidence_percent: default_confidence(),
            margin_percent: default_margin(),
            control: true,
        }
    }
}

fn default_seed() -> u64 {
    42
}

fn default_confidence() -> u32 {
    95
}

fn default_margin() -> u32 {
    2
}

fn yes() -> bool {
    true
}
