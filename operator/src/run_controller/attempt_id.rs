//! Identity of one attempt. Performs no I/O.

/// Identity of an attempt to measure a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// Index of the leg in the plan, starting at 0.
    pub leg: u32,
    /// Number of this attempt at the leg, starting at 1.
    pub attempt: u32,
}
