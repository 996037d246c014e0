//! Identity of one attempt. Performs no I/O.

/// Identity of an attempt, which is one execution of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// Index of the leg in the plan, from 0.
    pub leg: u32,
    /// Ordinal of this execution of the leg, from 1.
    pub attempt: u32,
}
