//! Which verdicts may be given. Everything that takes one away does so here.

use std::collections::{BTreeMap, BTreeSet};

use crds::v1alpha1::Engagement;

use super::{Comparison, Role, Withheld, nothing_applied};
use crate::collect::Reports;
use crate::plan::{Plan, Separation};
use crate::stats::{Margin, NullCheck, StatsError, null_check, percent_change};
use crate::summarize::Summary;

/// Takes away every verdict that may not be given, and says why.
pub(super) fn judge(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    all: &mut [Comparison],
) -> Result<(), StatsError> {
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let violated = violated(plan, all, margin);
    for comparison in all {
        let reason = withheld(plan, reports, summary, &violated, comparison);
        if let Some(reason) = reason {
            comparison.verdict = None;
            comparison.rounds_to_settle = None;
            comparison.reason = Some(reason);
        }
    }
    Ok(())
}

/// What a violated control makes invalid: scenario, size and separation.
type Controlled = (usize, u64, Separation);

fn violated(plan: &Plan, all: &[Comparison], margin: Margin) -> BTreeMap<Controlled, Withheld> {
    let controls = all
        .iter()
        .filter(|comparison| comparison.primary && comparison.role != Role::Variant);
    let violations = controls.filter_map(|control| {
        let interval = control.interval.as_ref()?;
        let arm = plan.arms.get(control.arm)?;
        let kind = match control.role {
            Role::ControlArm => "the control arm",
            Role::NegativeControl | Role::Variant => "the identical arm",
        };
        let violation = Withheld::ControlViolated {
            control: format!("{kind} \"{}\"", arm.name),
            low: percent_change(interval.lower),
            high: percent_change(interval.upper),
        };
        let controlled = (control.scenario, control.size_bytes, arm.separation);
        (null_check(interval, margin) == NullCheck::Violated).then_some((controlled, violation))
    });
    violations.collect()
}

/// Why the comparison may not have a verdict; the most fundamental reason first.
fn withheld(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    violated: &BTreeMap<Controlled, Withheld>,
    comparison: &Comparison,
) -> Option<Withheld> {
    let arm = plan.arms.get(comparison.arm)?;
    invalid(plan, summary, comparison)
        .or_else(|| other_devices(plan, reports, comparison))
        .or_else(|| {
            let controlled = (comparison.scenario, comparison.size_bytes, arm.separation);
            violated.get(&controlled).cloned()
        })
        .or_else(|| not_engaged(summary, comparison))
        .or_else(|| match comparison.role {
            Role::ControlArm => Some(Withheld::Control),
            Role::NegativeControl => Some(Withheld::Identical {
                message: identical(plan, summary, comparison),
            }),
            Role::Variant => None,
        })
        .or_else(|| (!comparison.primary).then_some(Withheld::NotPrimary))
}

fn invalid(plan: &Plan, summary: &Summary, comparison: &Comparison) -> Option<Withheld> {
    for arm in [plan.baseline, comparison.arm] {
        let cell = summary.cell(comparison.scenario, comparison.size_bytes, arm)?;
        if let Some(proof) = cell.contradicted() {
            return Some(Withheld::Contradicted {
                message: proof.reason.clone(),
            });
        }
        let who = || plan.arms.get(arm).map(|arm| arm.name.clone()).unwrap_or_default();
        if cell.cases == 0 {
            return Some(Withheld::NotYet { who: who() });
        }
        if cell.valid_cases == 0 {
            return Some(Withheld::NoValidRound {
                who: who(),
                message: cell
                    .invalid_reason()
                    .unwrap_or_else(|| "no case of it counts".to_owned()),
            });
        }
    }
    (comparison.rounds == 0).then_some(Withheld::NoCommonRound)
}

fn not_engaged(summary: &Summary, comparison: &Comparison) -> Option<Withheld> {
    let cell = summary.cell(comparison.scenario, comparison.size_bytes, comparison.arm)?;
    let mut missing = cell.evidence.iter();
    let missing = missing.find(|evidence| evidence.engagement == Engagement::NotEngaged)?;
    Some(Withheld::NotEngaged {
        optimization: missing.optimization,
        message: missing.reason.clone(),
    })
}

fn identical(plan: &Plan, summary: &Summary, comparison: &Comparison) -> String {
    let planned = plan.cell(comparison.scenario, comparison.size_bytes, comparison.arm);
    let by_plan = planned.and_then(|cell| {
        let mut reasons = cell.optimizations.iter();
        reasons.find_map(|asked| asked.not_applicable.clone())
    });
    by_plan
        .or_else(|| nothing_applied(summary, comparison))
        .unwrap_or_else(|| "same plan as the baseline".to_owned())
}

/// Arms with images of their own are measured in legs of their own: only legs on the same nodes and devices compare.
fn other_devices(plan: &Plan, reports: &Reports, comparison: &Comparison) -> Option<Withheld> {
    if plan.arms.get(comparison.arm)?.separation != Separation::Image {
        return None;
    }
    let legs = |arm: usize| -> BTreeSet<u32> {
        let has_arm = |leg: &&crate::plan::Leg| leg.arms.iter().any(|(index, _)| *index == arm);
        plan.legs.iter().filter(has_arm).map(|leg| leg.leg).collect()
    };
    let machines = |arm: usize| -> BTreeSet<(u32, String)> {
        let legs = legs(arm);
        let hellos = reports.hellos.iter().filter(|from| legs.contains(&from.leg));
        let machine = hellos.map(|from| {
            let environment = &from.record.environment;
            // Pods of one node have names of their own.
            let node = environment.node.as_ref().unwrap_or(&environment.hostname);
            (
                from.record.rank,
                format!("{node} [{}]", environment.rdma_devices.join(" ")),
            )
        });
        machine.collect()
    };
    let (own, baseline) = (machines(comparison.arm), machines(plan.baseline));
    let differs = own.symmetric_difference(&baseline).next()?;
    Some(Withheld::OtherDevices {
        message: format!("rank {}: {}", differs.0, differs.1),
    })
}
