//! Checks a plan for inconsistencies, and for settings under which it cannot show an effect. Performs no I/O.
//!
//! The planner never creates an inconsistent plan: its tests run this check on every plan that they create. Users
//! should therefore never see a [`Severity::Fatal`] note.

mod commands;
mod consistency;
mod effects;
pub(crate) mod libraries;
mod note;
mod sampling;
mod waiting;

use note::Notes;
pub use note::{Note, Severity};

use super::plan::Plan;

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

#[cfg(test)]
mod tests;
