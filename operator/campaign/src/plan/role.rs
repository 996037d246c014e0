//! Purpose of the comparison between an arm and the baseline at one size. Performs no I/O.

use serde::Serialize;

use super::{Arm, Separation, library_settings};
use crate::posting::Posting;

/// Purpose of the comparison between an arm and the baseline at one size. The planner decides it before anything is
/// measured, so the results cannot influence which comparisons get verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Measures what a variant changes. Only these comparisons get verdicts and form the family of a scenario.
    Variant,
    /// Compares a variant that posts exactly what the baseline posts, but opens its endpoints with different
    /// attributes: at every size, a different inject limit changes what a provider inlines and the depth of its
    /// queues. Although the optimization does not apply, an effect is not necessarily noise.
    NotApplicable,
    /// Compares a variant that does exactly what the baseline does at this size, so that any effect is noise: it posts
    /// the same, or its settings concern only a library that the timed operations of neither arm use.
    NegativeControl,
    /// Compares a control arm, a second copy of the baseline, so that any effect is noise.
    ControlArm,
}

impl Role {
    /// Role of the comparison between `arm`, whose posts `posting` describes, and `baseline`, whose posts `reference`
    /// describes. `others_differ` is true if the arms make the scenario's calls over different channels, or run its
    /// command with different arguments.
    pub(super) fn new(
        (arm, posting): (&Arm, Posting),
        (baseline, reference): (&Arm, Posting),
        others_differ: bool,
    ) -> Self {
        if arm.control.is_some() {
            Self::ControlArm
        } else if others_differ || arm.separation != Separation::Tuning || posting != reference {
            Self::Variant
        } else if arm.inject_max_bytes != baseline.inject_max_bytes {
            Self::NotApplicable
        } else {
            Self::NegativeControl
        }
    }

    /// Role of the comparison between `arm` and `baseline` in a scenario whose timed operations use the library of
    /// neither arm, over the same channel.
    pub(super) fn without_library(arm: &Arm, baseline: &Arm) -> Self {
        if arm.control.is_some() {
            Self::ControlArm
        } else if library_settings::differ_only_in_them(arm, baseline) {
            Self::NegativeControl
        } else {
            Self::Variant
        }
    }

    /// Whether any effect in the comparison is noise by construction.
    pub fn is_control(self) -> bool {
        matches!(self, Self::NegativeControl | Self::ControlArm)
    }
}
