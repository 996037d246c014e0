//! Answers to yes-or-no questions that a library may not answer.

use serde::{Deserialize, Serialize};

/// Answer to a yes-or-no question. Not every library reports an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Answer {
    /// The answer is yes.
    Yes,
    /// The answer is no.
    No,
    /// The library does not report an answer.
    Unknown,
}

impl Answer {
    /// Combines two answers: yes if either is yes; otherwise unknown if either is unknown; otherwise no.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::No, Self::No) => Self::No,
        }
    }
}

impl From<bool> for Answer {
    fn from(answer: bool) -> Self {
        if answer { Self::Yes } else { Self::No }
    }
}
