//! Checks a plan for inconsistencies, and for settings under which it cannot show an effect. Performs no I/O.
//!
//! The planner never creates an inconsistent plan: its tests run this check on every plan that they create. Users
//! should therefore never see a [`Severity::Fatal`] note.

mod commands;
mod consistency;
mod effects;
pub(crate) mod libraries;
mod sampling;
mod waiting;

use std::fmt;

use serde::Serialize;

use super::plan::Plan;

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

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notice => "note",
            Self::Warning => "warning",
            Self::Fatal => "fatal",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.message)
    }
}

/// Checks `plan` and returns all notes, the most severe first.
pub fn check(plan: &Plan) -> Vec<Note> {
    let mut notes = Notes::default();
    consistency::check(plan, &mut notes);
    sampling::check(plan, &mut notes);
    effects::check(plan, &mut notes);
    commands::check(plan, &mut notes);
    libraries::check(plan, &mut notes);
    waiting::check(plan, &mut notes);
    notes.0.sort_by_key(|note| std::cmp::Reverse(note.severity));
    notes.0
}

#[derive(Default)]
struct Notes(Vec<Note>);

impl Notes {
    fn add(&mut self, severity: Severity, message: impl Into<String>) {
        self.0.push(Note {
            severity,
            message: message.into(),
        });
    }
}

#[cfg(test)]
mod tests;
