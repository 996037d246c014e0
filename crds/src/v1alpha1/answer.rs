//! Answers to yes-or-no questions that a library might not answer.

use serde::{Deserialize, Serialize};

// The values are the same as for the status of a condition in Kubernetes. `Yes` and `No` would not work: kubectl and Helm
// read YAML 1.1, in which they are booleans, so the API server would reject them.
/// Whether a statement about the library or the provider is true. Not every library reports an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Answer {
    /// It is true.
    True,
    /// It is false.
    False,
    /// The library does not report an answer.
    Unknown,
}

impl Answer {
    /// Combines two answers: true if either is true; otherwise unknown if either is unknown; otherwise false.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::False, Self::False) => Self::False,
        }
    }
}

impl From<bool> for Answer {
    fn from(answer: bool) -> Self {
        if answer { Self::True } else { Self::False }
    }
}
