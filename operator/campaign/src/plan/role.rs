//! Purpose of the comparison between an arm and the baseline at one size. Performs no I/O.

use serde::Serialize;

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
    /// Whether any effect in the comparison is noise by construction.
    pub fn is_control(self) -> bool {
        matches!(self, Self::NegativeControl | Self::ControlArm)
    }
}
