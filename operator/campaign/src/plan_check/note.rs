//! Findings about a plan.

use std::fmt;

use serde::Serialize;

/// Severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Information that helps to interpret the results.
    Notice,
    /// The run cannot answer a question that the spec asks.
    Warning,
    /// The plan is inconsistent and must not be executed. This is a bug in the planner.
    Fatal,
}

/// A finding about a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Severity of the finding.
    pub severity: Severity,
    /// Description of the finding, with a fix if there is one.
    pub message: String,
}

impl Severity {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Notice => "note",
            Self::Warning => "warning",
            Self::Fatal => "fatal",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)
    }
}

#[derive(Default)]
pub(super) struct Notes(pub(super) Vec<Note>);

impl Notes {
    pub(super) fn add(&mut self, severity: Severity, message: impl Into<String>) {
        self.0.push(Note {
            severity,
            message: message.into(),
        });
    }
}
