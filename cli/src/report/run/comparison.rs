//! Comparisons and baseline results, as the report formats present them.

use campaign::compare::{Comparison, Withheld};
use campaign::format;
use campaign::plan::{PlannedScenario, Role};
use campaign::summarize::CellSummary;
use crds::v1alpha1::{Answer, Metric, Verdict};

use crate::report::document::{ResultClass, ResultText};
use crate::report::labels::BELOW_RESOLUTION;
use crate::report::{Report, labels};

impl From<&Comparison> for ResultText {
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

/// Presents the result in `metric` of the arm at the size of `cell`, given as the indexes of the scenario and the arm and the
/// size in bytes, with a mark next to the change if the library emulated, or may have emulated, the arm's operations.
pub(super) fn compared_text(report: &Report<'_>, cell: (usize, u64, usize), metric: Metric) -> ResultText {
    let (scenario, size_bytes, arm) = cell;
    let comparisons = &report.evaluation.comparisons;
    let Some(comparison) = comparisons.find(scenario, size_bytes, arm, metric) else {
        return absent("not compared");
    };
    let cell = report.evaluation.summary.cell(scenario, size_bytes, arm);
    let text = ResultText::from(comparison);
    ResultText {
        change: text.change.map(|change| with_emulation(change, cell)),
        ..text
    }
}

/// A result that there is not, for the reason in `label`.
fn absent(label: &'static str) -> ResultText {
    ResultText {
        class: ResultClass::NotApplicable,
        label,
        change: None,
        reason: None,
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
pub(super) fn change(comparison: &Comparison) -> Option<String> {
    let effect = comparison.effect?.percent;
    Some(format::change(effect, comparison.interval_percent()))
}

/// Whether the comparison is for a variant and has no verdict because what the variant requests did not take effect or
/// does not apply. More rounds would not change that.
pub(super) fn is_without_effect(comparison: &Comparison) -> bool {
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
pub(super) fn is_undecided(comparison: &Comparison) -> bool {
    comparison.role == Role::Variant
        && matches!(comparison.verdict, None | Some(Verdict::Inconclusive))
        && !is_without_effect(comparison)
}

/// Describes how many of `total` comparisons [`is_undecided`] applies to; `None` if it applies to none.
pub(super) fn undecided_text(count: usize, total: usize, what: &str) -> Option<String> {
    let are = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{count} of {total} {what} {are} undecided"))
}

/// Describes how many of `total` comparisons have no verdict because of [`is_without_effect`].
pub(super) fn without_effect_text(count: usize, total: usize, what: &str) -> String {
    format!("in {count} of {total} {what}, the variant did not take effect (NotEngaged) or does not apply")
}

/// Presents the median of the baseline's primary metric at `size` bytes in `scenario`, which has index `index` in the plan.
pub(super) fn baseline_text(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    size: u64,
) -> ResultText {
    let cell = report.evaluation.summary.cell(index, size, report.plan.baseline);
    let median = cell.and_then(|cell| labels::median(scenario, cell, scenario.primary));
    match (median, cell) {
        (Some(value), _) => ResultText {
            class: ResultClass::NoChange,
            label: "",
            change: Some(with_emulation(value, cell)),
            reason: None,
        },
        (None, Some(cell)) if cell.below_resolution.contains(&scenario.primary) => absent(BELOW_RESOLUTION),
        (None, Some(cell)) if cell.cases > 0 => {
            let reason = cell.invalid_reason();
            let reason = reason.unwrap_or_else(|| "no case has a value for this metric".to_owned());
            ResultText {
                class: ResultClass::Invalid,
                label: "invalid",
                change: None,
                reason: Some(reason),
            }
        }
        (None, _) => absent("not measured yet"),
    }
}
