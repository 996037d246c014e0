//! Summarizes a run's verdicts in one line. Performs no I/O.

use crds::v1alpha1::Verdict;

use super::{Comparison, NoiseAboveMargin};
use crate::plan::{Plan, Role};
use crate::summarize::Summary;

/// Summarizes each variant's verdicts on the primary metrics by counting the sizes with each verdict. Sizes at which a
/// variant posts exactly what the baseline posts are not counted. An incomplete run's verdicts are marked as
/// incomplete, because its intervals are valid only if the decision to stop the run did not depend on them.
///
/// The verdicts follow the word `noisy:` if `noise` contains a control: some size cannot be answered at the run's margin.
pub fn verdict_line(
    plan: &Plan,
    summary: &Summary,
    all: &[Comparison],
    noise: &[NoiseAboveMargin],
) -> String {
    if let Some(reason) = summary.nothing_measured() {
        return format!("nothing was measured: {reason}");
    }
    let mut parts = Vec::new();
    for (index, arm) in plan.arms.iter().enumerate() {
        if index == plan.baseline || arm.control.is_some() {
            continue;
        }
        let comparisons: Vec<&Comparison> = all
            .iter()
            .filter(|comparison| comparison.arm == index && comparison.primary)
            .filter(|comparison| comparison.role == Role::Variant)
            .collect();
        parts.push(format!("{} {}", arm.name, summarize_arm(&comparisons)));
    }
    let verdicts = match parts.is_empty() {
        true => "nothing to compare: only the baseline was measured".to_owned(),
        false => parts.join(", "),
    };
    let verdicts = match noise.is_empty() {
        true => verdicts,
        false => format!("noisy: {verdicts}"),
    };
    match summary.is_complete() {
        true => verdicts,
        false => format!("incomplete: {verdicts}"),
    }
}

fn summarize_arm(comparisons: &[&Comparison]) -> String {
    let total = comparisons.len();
    let count = |verdict: Option<Verdict>| {
        comparisons
            .iter()
            .filter(|comparison| comparison.verdict == verdict)
            .count()
    };
    let mut parts = Vec::new();
    for (verdict, label) in [
        (Some(Verdict::Improved), "improved"),
        (Some(Verdict::Regressed), "regressed"),
    ] {
        match count(verdict) {
            0 => {}
            some => parts.push(format!("{label} {some} of {total}")),
        }
    }
    if !parts.is_empty() {
        return parts.join(" and ");
    }
    if total == 0 {
        return "not applicable".to_owned();
    }
    for (verdict, label) in [
        (Some(Verdict::NoChange), "no change"),
        (Some(Verdict::Inconclusive), "inconclusive"),
        (None, "no verdict"),
    ] {
        match count(verdict) {
            0 => {}
            some => parts.push(format!("{label} in {some}")),
        }
    }
    format!("{} of {total}", parts.join(", "))
}
