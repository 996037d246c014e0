//! Determines the purpose of the comparison between an arm and the baseline at one size. Performs no I/O.

use super::library_settings;
use super::model::{Arm, Separation};
use super::role::Role;
use crate::posting::Posting;

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
}
