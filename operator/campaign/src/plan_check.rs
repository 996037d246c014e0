//! Reads a plan as a reviewer would: what contradicts itself, and what cannot show an effect. Pure.
//!
//! A plan of ours never contradicts itself; that check runs on every plan that a test makes. The rest a user sees.

mod consistency;
mod effects;
mod sampling;

use std::fmt;

use serde::Serialize;

use super::plan::Plan;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Good to know when reading the result.
    Notice,
    /// Something that was asked for cannot be answered.
    Warning,
    /// The plan contradicts itself and must not be carried out: this is a fault of the planner.
    Fatal,
}

/// Something a reader of the plan should know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// In words, with what to do where something can be done.
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

/// All notes on `plan`, the gravest first.
pub fn check(plan: &Plan) -> Vec<Note> {
    let mut notes = Notes::default();
    consistency::check(plan, &mut notes);
    sampling::check(plan, &mut notes);
    effects::check(plan, &mut notes);
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
