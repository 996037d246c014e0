//! Problems in a run's spec: the field path, the cause and the fix.

use std::fmt;

use crds::units::Duration;

/// A problem in a run's spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Path of the field, such as `spec.variants[2].striping.thresholdBytes`.
    pub path: String,
    /// Cause and fix.
    pub message: String,
    /// Kind of the problem.
    pub kind: ProblemKind,
}

/// Kind of a problem, for readers that also find problems of other sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A name refers to nothing. The message lists the valid names.
    UnknownName,
    /// Two variants would post exactly the same messages.
    IdenticalVariants,
    /// Any other problem.
    Other,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// All problems in a run's spec; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Cause and fix if a duration is too short to measure, or longer than the longest case allows.
pub(crate) fn duration_bounds(given: Duration, min: Duration, max: Duration) -> String {
    format!(
        "{given} is not between {min} and {max}. The maximum is half of the longest case, so that warm-up and \
         measurement both finish in time. Choose another duration"
    )
}
