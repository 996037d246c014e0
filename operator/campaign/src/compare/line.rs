//! The verdicts of a run in a line.

use crds::v1alpha1::Verdict;

use super::{Comparison, Role};
use crate::plan::Plan;
use crate::summarize::Summary;

/// For each variant, of how many sizes it is better, worse, the same or not settled; sizes at which it is identical to
/// the baseline do not count.
pub fn verdict_line(plan: &Plan, summary: &Summary, all: &[Comparison]) -> String {
    if let Some(reason) = summary.nothing_measured() {
        return format!("nothing was measured: {reason}");
    }
    let mut parts = Vec::new();
    for (index, arm) in plan.arms.iter().enumerate() {
        if index == plan.baseline || arm.control.is_some() {
            continue;
        }
        let own = |comparison: &&Comparison| comparison.arm == index && comparison.primary;
        let judged: Vec<&Comparison> = all
            .iter()
            .filter(own)
            .filter(|comparison| comparison.role == Role::Variant)
            .collect();
        parts.push(format!("{} {}", arm.name, of_arm(&judged)));
    }
    match parts.is_empty() {
        true => "nothing to compare: only the baseline was measured".to_owned(),
        false => parts.join(", "),
    }
}

fn of_arm(judged: &[&Comparison]) -> String {
    let total = judged.len();
    let count = |wanted: Option<Verdict>| judged.iter().filter(|one| one.verdict == wanted).count();
    let mut said = Vec::new();
    for (verdict, word) in [
        (Some(Verdict::Improved), "improved"),
        (Some(Verdict::Regressed), "regressed"),
    ] {
        match count(verdict) {
            0 => {}
            some => said.push(format!("{word} {some} of {total}")),
        }
    }
    if !said.is_empty() {
        return said.join(" and ");
    }
    if total == 0 {
        return "not applicable".to_owned();
    }
    for (verdict, word) in [
        (Some(Verdict::NoChange), "no change"),
        (Some(Verdict::Inconclusive), "inconclusive"),
        (None, "without verdict"),
    ] {
        match count(verdict) {
            0 => {}
            some => said.push(format!("{word} in {some}")),
        }
    }
    format!("{} of {total}", said.join(", "))
}
