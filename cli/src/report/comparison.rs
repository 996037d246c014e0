//! Comparisons and baseline results, as the report formats present them.

use campaign::compare::{Comparison, Withheld};
use campaign::format;
use campaign::plan::{PlannedScenario, Role};
use campaign::summarize::CellSummary;
use crds::v1alpha1::{Answer, Verdict};

use super::labels::BELOW_RESOLUTION;
use super::{Report, labels};

/// Class of a result, which determines its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultClass {
    /// The variant is better than the baseline.
    Improved,
    /// The variant is worse than the baseline.
    Regressed,
    /// The variant is shown to be equivalent to the baseline.
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

/// Presentation of one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonText {
    /// Class of the result.
    pub class: ResultClass,
    /// Verdict, or a short label for its absence.
    pub label: &'static str,
    /// Change with its interval, such as `-6.2 % [-7.9, -4.4]`.
    pub change: Option<String>,
    /// Explanation of the label.
    pub reason: Option<String>,
}

impl From<&Comparison> for ComparisonText {
    fn from(comparison: &Comparison) -> Self {
        let (class, label) = match (comparison.verdict, &comparison.reason) {
            (Some(Verdict::Improved), _) => (ResultClass::Improved, "Improved"),
            (Some(Verdict::Regressed), _) => (ResultClass::Regressed, "Regressed"),
            (Some(Verdict::NoChange), _) => (ResultClass::NoChange, "NoChange"),
            (Some(Verdict::Inconclusive), _) => (ResultClass::Inconclusive, "Inconclusive"),
            (None, Some(Withheld::NotEngaged { .. } | Withheld::NoEffect { .. })) => {
                (ResultClass::NotEngaged, "NotEngaged")
            }
            (None, Some(Withheld::Identical { .. } | Withheld::NotApplicable { .. })) => {
                (ResultClass::NotApplicable, "n/a")
            }
            (None, Some(Withheld::Control)) => (ResultClass::NotApplicable, "control"),
            (None, Some(Withheld::NotPrimary)) => (ResultClass::NotApplicable, "descriptive"),
            (None, Some(Withheld::NotMeasured { .. })) => (ResultClass::NotApplicable, "not measured yet"),
            (None, Some(Withheld::NotAnalyzed { .. })) => (ResultClass::NotApplicable, "not analyzed yet"),
            (None, Some(Withheld::ControlViolated { .. } | Withheld::InterfaceShared { .. })) => {
                (ResultClass::Suspect, "suspect")
            }
            (None, _) => (ResultClass::Invalid, "invalid"),
        };
        let cause = comparison.inconclusive.as_ref().map(ToString::to_string);
        let reason = match (&comparison.reason, comparison.rounds_to_settle) {
            _ if cause.is_some() => cause,
            (
                Some(
                    Withheld::NotEngaged { message, .. }
                    | Withheld::NoEffect { message }
                    | Withheld::Identical { message }
                    | Withheld::NotApplicable { message },
                ),
                _,
            ) => Some(message.clone()),
            (Some(Withheld::NotMeasured { .. }), _) => None,
            (Some(Withheld::Control), _) => Some("noise floor".to_owned()),
            (Some(Withheld::NotPrimary), _) => {
                Some("only the primary metric of a scenario gets a verdict".to_owned())
            }
            (Some(Withheld::ControlViolated { .. } | Withheld::InterfaceShared { .. }), _) => comparison
                .reason
                .as_ref()
                .map(|reason| reason.to_string().replacen("suspect: ", "", 1)),
            (Some(reason), _) => Some(reason.to_string()),
            (None, Some(_)) if comparison.is_futile() => {
                Some("futile, because later rounds were unlikely to decide it".to_owned())
            }
            (None, Some(rounds)) => Some(format!("needs {rounds}")),
            (None, None) => None,
        };
        Self {
            class,
            label,
            change: change(comparison),
            reason,
        }
    }
}

impl ComparisonText {
    /// Presents `comparison`, with a mark next to the change if the library emulated, or may have emulated, the arm's
    /// operations.
    pub fn with_emulation_mark(report: &Report<'_>, comparison: &Comparison) -> Self {
        let (scenario, size_bytes) = (comparison.scenario, comparison.size_bytes);
        let cell = report
            .evaluation
            .summary
            .cell(scenario, size_bytes, comparison.arm);
        let text = Self::from(comparison);
        Self {
            change: text.change.map(|change| with_emulation(change, cell)),
            ..text
        }
    }

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

/// Appends a mark to `value` if the library emulated, or may have emulated, the operations of `cell` in software. Such
/// a value may not describe the device.
fn with_emulation(value: String, cell: Option<&CellSummary>) -> String {
    match cell.and_then(|cell| cell.emulated) {
        Some(Answer::True) => format!("{value} (emulated)"),
        Some(Answer::Unknown) => format!("{value} (emulation unknown)"),
        Some(Answer::False) | None => value,
    }
}

/// Formats the change with its interval, if any. Returns `None` if no effect could be estimated.
pub fn change(comparison: &Comparison) -> Option<String> {
    let effect = comparison.effect?.percent;
    Some(format::change(effect, comparison.interval_percent()))
}

/// Whether the comparison is for a variant and has no verdict because what the variant requests did not take effect or
/// does not apply. More rounds would not change that.
pub fn is_without_effect(comparison: &Comparison) -> bool {
    let reason = comparison.reason.as_ref();
    comparison.role == Role::Variant
        && comparison.verdict.is_none()
        && matches!(
            reason,
            Some(Withheld::NotEngaged { .. } | Withheld::NoEffect { .. } | Withheld::NotApplicable { .. })
        )
}

/// Whether the comparison is for a variant and neither shows nor rules out a regression: it is inconclusive, or has no
/// verdict although [`is_without_effect`] is false.
pub fn is_undecided(comparison: &Comparison) -> bool {
    comparison.role == Role::Variant
        && matches!(comparison.verdict, None | Some(Verdict::Inconclusive))
        && !is_without_effect(comparison)
}

/// Describes how many of `total` comparisons [`is_undecided`] applies to; `None` if it applies to none.
pub fn undecided_text(count: usize, total: usize, what: &str) -> Option<String> {
    let are = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{count} of {total} {what} {are} undecided"))
}

/// Describes how many of `total` comparisons have no verdict because of [`is_without_effect`].
pub fn without_effect_text(count: usize, total: usize, what: &str) -> String {
    format!("in {count} of {total} {what}, the variant did not take effect (NotEngaged) or does not apply")
}

/// Presentation of the baseline's result at one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineText {
    /// Median with its unit.
    Measured(String),
    /// The tool printed 0 in at least one case.
    BelowResolution,
    /// Why no case is valid.
    Invalid(String),
    /// No case has been measured yet.
    NotMeasured,
}

impl BaselineText {
    /// Presents the baseline's primary metric at `size` bytes in `scenario`, which has index `index` in the plan.
    pub fn new(report: &Report<'_>, index: usize, scenario: &PlannedScenario, size: u64) -> Self {
        let cell = report.evaluation.summary.cell(index, size, report.plan.baseline);
        let median = cell.and_then(|cell| labels::median(scenario, cell, scenario.primary));
        match (median, cell) {
            (Some(value), _) => Self::Measured(with_emulation(value, cell)),
            (None, Some(cell)) if cell.below_resolution.contains(&scenario.primary) => Self::BelowResolution,
            (None, Some(cell)) if cell.cases > 0 => Self::Invalid(
                cell.invalid_reason()
                    .unwrap_or_else(|| "no case has a value for this metric".to_owned()),
            ),
            (None, _) => Self::NotMeasured,
        }
    }

    /// Formats the result in one line.
    pub fn line(&self) -> String {
        match self {
            Self::Measured(value) => value.clone(),
            Self::BelowResolution => BELOW_RESOLUTION.to_owned(),
            Self::Invalid(reason) => format!("invalid: {reason}"),
            Self::NotMeasured => "not measured yet".to_owned(),
        }
    }
}
