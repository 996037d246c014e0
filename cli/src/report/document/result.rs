//! A result and its parts.

/// Class of a result, which determines its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultClass {
    /// The variant is better than the baseline.
    Improved,
    /// The variant is worse than the baseline.
    Regressed,
    /// The variant is shown to be equivalent to the baseline, or the result is a value of the baseline.
    NoChange,
    /// The interval does not support a conclusion.
    Inconclusive,
    /// No verdict is planned for this cell, or nothing has been measured yet.
    NotApplicable,
    /// The optimization was requested but did not take effect.
    NotEngaged,
    /// A control at the same size shows a change.
    Suspect,
    /// The results cannot be trusted.
    Invalid,
}

/// A result, with its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultText {
    /// Class of the result.
    pub class: ResultClass,
    /// Verdict, or a short label for its absence; empty for a value.
    pub label: &'static str,
    /// Value, or change with its interval, such as `-6.2 % [-7.9, -4.4]`.
    pub change: Option<String>,
    /// Explanation of the label.
    pub reason: Option<String>,
}

impl ResultText {
    /// Formats the label, change and reason in one line.
    pub fn line(&self) -> String {
        use ResultClass::{Improved, Inconclusive, NoChange, NotApplicable, Regressed};
        let Self {
            class,
            label,
            change,
            reason,
        } = self;
        match (class, change, reason) {
            (_, Some(value), None) if label.is_empty() => value.clone(),
            (Improved | Regressed | NoChange | Inconclusive, Some(change), None) => {
                format!("{change} {label}")
            }
            (Inconclusive, Some(change), Some(reason)) => format!("{change} {label}: {reason}"),
            (NotApplicable, Some(change), Some(reason)) => format!("{label}: {reason} ({change})"),
            (_, _, Some(reason)) => format!("{label}: {reason}"),
            (_, _, None) => (*label).to_owned(),
        }
    }
}
