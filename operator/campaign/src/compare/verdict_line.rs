//! Answers in one line what a run was asked: which variant changes what, by how much, how certainly and where. Performs no
//! I/O.

use crds::v1alpha1::Verdict;

use super::comparison::Comparison;
use super::expectations::metric_name;
use super::noise_above_margin::NoiseAboveMargin;
use crate::format;
use crate::plan::{Plan, Role};
use crate::summarize::Summary;

/// States each variant's greatest improvement and its greatest regression on the primary metrics with the simultaneous
/// interval and the size, and counts the sizes with each verdict, as in `doorbell latency p50 -8.4 % [-9.9, -7.1] at 64 B,
/// improved 3 of 6`. The intervals of a scenario hold together, so the greatest of them is as certain as any other. Without
/// such a verdict, only the sizes are counted. Sizes at which a variant posts exactly what the baseline posts are not
/// counted. An incomplete run's verdicts are marked as incomplete, because its intervals are valid only if the decision to
/// stop the run did not depend on them.
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
        parts.push(format!("{} {}", arm.name, summarize_arm(plan, &comparisons)));
    }
    let verdicts = match parts.is_empty() {
        true => "nothing to compare: only the baseline was measured".to_owned(),
        false => parts.join("; "),
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

fn summarize_arm(plan: &Plan, comparisons: &[&Comparison]) -> String {
    let total = comparisons.len();
    if total == 0 {
        return "not applicable".to_owned();
    }
    let decided = [(Verdict::Improved, "improved"), (Verdict::Regressed, "regressed")];
    let changes = decided.into_iter().filter_map(|(verdict, label)| {
        let changed = with_verdict(comparisons, Some(verdict));
        let greatest = greatest_change(plan, &changed)?;
        Some(format!("{greatest}, {label} {} of {total}", changed.len()))
    });
    let changes: Vec<String> = changes.collect();
    if !changes.is_empty() {
        return changes.join(" and ");
    }
    let undecided = [
        (Some(Verdict::NoChange), "no change"),
        (Some(Verdict::Inconclusive), "inconclusive"),
        (None, "no verdict"),
    ];
    let counts = undecided.into_iter().filter_map(|(verdict, label)| {
        let count = with_verdict(comparisons, verdict).len();
        (count > 0).then(|| format!("{label} in {count}"))
    });
    format!("{} of {total}", counts.collect::<Vec<_>>().join(", "))
}

fn with_verdict<'a>(comparisons: &[&'a Comparison], verdict: Option<Verdict>) -> Vec<&'a Comparison> {
    let found = comparisons
        .iter()
        .filter(|comparison| comparison.verdict == verdict);
    found.copied().collect()
}

/// The greatest of the changes by a factor, with its metric, interval and size. The scenario is named if there are several.
fn greatest_change(plan: &Plan, changes: &[&Comparison]) -> Option<String> {
    let with_effects = changes.iter().filter_map(|one| Some((*one, one.effect?)));
    let (greatest, effect) =
        with_effects.max_by(|(_, a), (_, b)| a.log_ratio.abs().total_cmp(&b.log_ratio.abs()))?;
    let scenario = plan.scenarios.get(greatest.scenario);
    let scenario = scenario.filter(|_| plan.scenarios.len() > 1);
    let scenario = scenario.map(|scenario| format!(" in {}", scenario.assignment.name));
    Some(format!(
        "{} {} at {}{}",
        metric_name(greatest.metric),
        format::change(effect.percent, greatest.interval_percent()),
        format::size(greatest.size_bytes),
        scenario.unwrap_or_default()
    ))
}
