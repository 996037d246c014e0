//! Number of rounds and statistical parameters of the verdicts.

use serde::{Deserialize, Serialize};

use crate::units::Duration;

/// Number of rounds and statistical parameters of the verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sampling {
    /// Number of rounds. A round repeats every scenario in new processes and is the unit of statistical analysis. Must
    /// be between 1 and 60. Defaults to the smallest number that allows a verdict in every scenario, plus four. If stop
    /// is Settled, this is the maximum number of rounds, and defaults to 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 60)))]
    pub rounds: Option<u32>,
    /// Seed of the random order in which the arms are measured. Must be at most 9007199254740991. Defaults to a number
    /// derived from metadata.uid, so that every run has a different order; status.seed shows the seed used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 9_007_199_254_740_991_u64)))]
    pub seed: Option<u64>,
    /// Simultaneous confidence level of all intervals in a scenario, in percent. Must be between 80 and 99. Defaults to
    /// 95.
    #[serde(default = "default_confidence")]
    #[cfg_attr(feature = "crd", schemars(range(min = 80, max = 99)))]
    pub confidence_percent: u32,
    /// Equivalence margin, as a percentage of the baseline. A change within the margin is treated as no change. Must be
    /// between 1 and 50. Defaults to 2.
    #[serde(default = "default_margin")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 50)))]
    pub margin_percent: u32,
    /// Minimum length of the measured window of a case, such as 20ms. Before round 1, a pilot measures how many
    /// operations each arm and pair needs to fill the window. Every arm and pair then uses the largest of these counts,
    /// and a scenario's iterations serve only as a lower bound. 0s disables the pilot, so that exactly the configured
    /// number of iterations is measured. Must be at most 10s. Defaults to 20ms.
    #[serde(default = "default_min_window")]
    pub min_window: Duration,
    /// Whether the baseline is measured a second time as a control arm, to determine the noise floor. Defaults to true.
    #[serde(default = "default_true")]
    pub control: bool,
    /// Whether the run measures all rounds, or ends each comparison as soon as it is decided. Defaults to Fixed.
    #[serde(default, skip_serializing_if = "Stop::is_fixed")]
    pub stop: Stop,
    /// Whether verdicts are withheld if other traffic used the network interfaces. Defaults to Withhold if the workers run
    /// on nodes that are reserved for the run (placement.exclusive), and to Report otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_interface: Option<SharedInterface>,
}

/// What happens to verdicts if other traffic used the network interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum SharedInterface {
    /// The verdicts are withheld.
    Withhold,
    /// The verdicts are stated, and the proof shows that the interfaces were shared.
    Report,
}

/// Rule that determines how many rounds are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Stop {
    /// Every arm is measured in every round.
    #[default]
    Fixed,
    /// The results are analyzed several times, each after a planned number of rounds. A comparison ends at the first
    /// analysis that decides its verdict and its expectations, or that shows that later analyses are unlikely to decide
    /// them. An arm is no longer measured at a size once all comparisons that need it have ended. The error probability
    /// is divided among the analyses, so the confidence level holds for all of them together.
    Settled,
}

impl Stop {
    /// Whether every arm is measured in every round.
    pub fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            rounds: None,
            seed: None,
            confidence_percent: default_confidence(),
            margin_percent: default_margin(),
            min_window: default_min_window(),
            control: true,
            stop: Stop::Fixed,
            shared_interface: None,
        }
    }
}

fn default_confidence() -> u32 {
    95
}

fn default_margin() -> u32 {
    2
}

fn default_min_window() -> Duration {
    Duration(std::time::Duration::from_millis(20))
}

fn default_true() -> bool {
    true
}
