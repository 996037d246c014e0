//! Answers to yes-or-no questions that a library might not answer.

use serde::{Deserialize, Serialize};

// The values match those of a condition status in Kubernetes. `Yes` and `No` would not work: kubectl and Helm parse
// YAML 1.1, where they are booleans, so the API server would reject them.
/// Whether a statement about the library or the provider is true, if the library reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum Answer {
    /// The statement is true.
    True,
    /// The statement is false.
    False,
    /// The library does not report whether the statement is true.
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
