//! Removes the verdicts that must not be reported. All rules that withhold a verdict are in this module. Performs no
//! I/O.

use std::collections::{BTreeMap, BTreeSet};

use crds::v1alpha1::{Engagement, FabricProof, SharedInterface};

use super::comparison::Comparison;
use super::reason::Withheld;
use crate::collect::Reports;
use crate::plan::{LIBRARY_NOT_USED, Plan, Role, Separation};
use crate::stats::{Margin, NullCheck, StatsError, null_check};
use crate::summarize::{CellSummary, ObtainedDevices, Summary, are_inert};

/// Removes every verdict that must not be reported and records the reason.
pub(super) fn withhold_verdicts(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    all: &mut [Comparison],
) -> Result<(), StatsError> {
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let violations = violated_controls(plan, all, margin);
    for comparison in all {
        if let Some(reason) = reason_to_withhold(plan, reports, summary, &violations, comparison) {
            comparison.verdict = None;
            comparison.rounds_to_settle = None;
            comparison.reason = Some(reason);
        }
    }
    Ok(())
}

/// Scenario and size in bytes to which a control applies: all comparisons in this scope share the baseline.
type ControlScope = (usize, u64);

fn violated_controls(plan: &Plan, all: &[Comparison], margin: Margin) -> BTreeMap<ControlScope, Withheld> {
    let controls = all
        .iter()
        .filter(|comparison| comparison.primary && comparison.role.is_control());
    let violations = controls.filter_map(|control| {
        let interval = control.control_interval.as_ref()?;
        let arm = plan.arms.get(control.arm)?;
        let kind = match control.role {
            Role::ControlArm => "the control arm",
            Role::NegativeControl | Role::NotApplicable | Role::Variant => "the identical arm",
        };
        let (low, high) = interval.percent();
        let violation = Withheld::ControlViolated {
            control: format!("{kind} \"{}\"", arm.name),
            low,
            high,
        };
        let scope = (control.scenario, control.size_bytes);
        (null_check(interval, margin) == NullCheck::Violated).then_some((scope, violation))
    });
    violations.collect()
}

/// Reason to withhold the verdict of `comparison`; the most fundamental one if several apply.
fn reason_to_withhold(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    violations: &BTreeMap<ControlScope, Withheld>,
    comparison: &Comparison,
) -> Option<Withheld> {
    missing_or_invalid(plan, summary, comparison)
        .or_else(|| different_devices(plan, reports, comparison))
        .or_else(|| {
            let scope = (comparison.scenario, comparison.size_bytes);
            violations.get(&scope).cloned()
        })
        .or_else(|| not_engaged(summary, comparison))
        .or_else(|| no_effect(plan, summary, comparison))
        .or_else(|| match comparison.role {
            Role::ControlArm => Some(Withheld::Control),
            Role::NegativeControl => Some(Withheld::Identical {
                message: identity_reason(plan, summary, comparison),
            }),
            Role::NotApplicable => Some(Withheld::NotApplicable {
                message: identity_reason(plan, summary, comparison),
            }),
            Role::Variant => inapplicable_reason(plan, summary, comparison)
                .map(|message| Withheld::NotApplicable { message }),
        })
        .or_else(|| shared_interface(plan, reports, summary, comparison))
        .or_else(|| (!comparison.primary).then_some(Withheld::NotPrimary))
        .or_else(|| {
            let is_awaited = matches!(comparison.reason, Some(Withheld::NotAnalyzed { .. }));
            comparison.reason.clone().filter(|_| is_awaited)
        })
}

/// Other traffic on the interfaces of the arm or of the baseline, if the run withholds verdicts in this case. Every reason
/// that ends a comparison at an analysis precedes it, so that it does not affect which comparisons an analysis ends.
fn shared_interface(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    comparison: &Comparison,
) -> Option<Withheld> {
    let default = || match plan.reserves_nodes && ran_in_cluster(reports) {
        true => SharedInterface::Withhold,
        false => SharedInterface::Report,
    };
    if plan.sampling.shared_interface.unwrap_or_else(default) == SharedInterface::Report {
        return None;
    }
    let arms = [plan.baseline, comparison.arm];
    arms.into_iter().find_map(|arm| {
        let cell = summary.cell(comparison.scenario, comparison.size_bytes, arm)?;
        let proof = cell.proof_if(FabricProof::Shared)?;
        let name = plan.arm_name(arm);
        Some(Withheld::InterfaceShared {
            message: format!("{name}: {}", proof.reason),
        })
    })
}

/// Whether every worker ran on a node of a cluster. Only the operator can reserve nodes for a run.
fn ran_in_cluster(reports: &Reports) -> bool {
    !reports.hellos.is_empty()
        && reports
            .hellos
            .iter()
            .all(|hello| hello.record.environment.node.is_some())
}

/// A contradicted fabric or missing values, of the arm or else of the baseline: a failed arm explains its own failure.
fn missing_or_invalid(plan: &Plan, summary: &Summary, comparison: &Comparison) -> Option<Withheld> {
    let compared = [comparison.arm, plan.baseline].map(|arm| {
        let cell = summary.cell(comparison.scenario, comparison.size_bytes, arm)?;
        Some((plan.arm_name(arm), cell))
    });
    let [Some(arm), Some(baseline)] = compared else {
        return None;
    };
    let of_either = |reason: fn(&str, &CellSummary) -> Option<Withheld>| {
        reason(arm.0, arm.1).or_else(|| reason(baseline.0, baseline.1))
    };
    of_either(contradiction)
        .or_else(|| of_either(absence))
        .or_else(|| (comparison.rounds == 0).then_some(Withheld::NoCommonRound))
}

/// Evidence that a case of `arm` did not use the requested fabric.
pub(crate) fn contradiction(arm: &str, cell: &CellSummary) -> Option<Withheld> {
    let proof = cell.proof_if(FabricProof::Contradicted)?;
    Some(Withheld::Contradicted {
        message: format!("{arm}: {}", proof.reason),
    })
}

/// Why `arm` has no value.
fn absence(arm: &str, cell: &CellSummary) -> Option<Withheld> {
    let arm = arm.to_owned();
    if cell.cases == 0 {
        return Some(Withheld::NotMeasured { arm });
    }
    (cell.valid_cases == 0).then(|| Withheld::NoValidRound {
        arm,
        message: cell
            .invalid_reason()
            .unwrap_or_else(|| "none of its cases is valid".to_owned()),
    })
}

fn not_engaged(summary: &Summary, comparison: &Comparison) -> Option<Withheld> {
    let cell = summary.cell(comparison.scenario, comparison.size_bytes, comparison.arm)?;
    let mut evidence = cell.evidence.iter();
    let missing = evidence.find(|evidence| evidence.engagement == Engagement::NotEngaged)?;
    Some(Withheld::NotEngaged {
        optimization: missing.optimization,
        message: missing.reason.clone(),
    })
}

/// Why a variant that differs from the baseline only in its environment, library, image or claims has no verdict: none of these
/// differences can have an effect.
fn no_effect(plan: &Plan, summary: &Summary, comparison: &Comparison) -> Option<Withheld> {
    let scenario = plan.scenarios.get(comparison.scenario)?;
    let cell = summary.cell(comparison.scenario, comparison.size_bytes, comparison.arm)?;
    are_inert(plan, scenario, comparison.arm, &cell.differences).then(|| {
        let reasons = cell
            .differences
            .iter()
            .map(|one| format!("{}: {}", one.subject, one.reason));
        Withheld::NoEffect {
            message: reasons.collect::<Vec<_>>().join("; "),
        }
    })
}

/// Why a variant that differs from the baseline only in optimizations has no verdict: according to the evidence, none
/// of the optimizations applies at this size. The planner cannot always predict this, because it does not know the
/// provider's inject limit, and therefore cannot know whether every post is injected.
fn inapplicable_reason(plan: &Plan, summary: &Summary, comparison: &Comparison) -> Option<String> {
    let cell = |arm| plan.cell(comparison.scenario, comparison.size_bytes, arm);
    let striping = |arm| cell(arm).map(|cell| (cell.rails, cell.chunk_bytes));
    let only_optimizations = plan.arms.get(comparison.arm)?.separation == Separation::Tuning
        && striping(comparison.arm) == striping(plan.baseline);
    let evidence = &summary
        .cell(comparison.scenario, comparison.size_bytes, comparison.arm)?
        .evidence;
    let none_applies = evidence
        .iter()
        .all(|evidence| evidence.engagement == Engagement::NotApplicable);
    let first = evidence.first()?;
    (only_optimizations && none_applies).then(|| first.reason.clone())
}

/// Why the arm posts exactly what the baseline posts.
fn identity_reason(plan: &Plan, summary: &Summary, comparison: &Comparison) -> String {
    let scenario = plan.scenarios.get(comparison.scenario);
    if scenario.is_some_and(|scenario| !plan.uses_library(scenario, comparison.arm)) {
        return format!("{LIBRARY_NOT_USED}, and the arm changes nothing else");
    }
    let planned = plan.cell(comparison.scenario, comparison.size_bytes, comparison.arm);
    let by_plan = planned.and_then(|cell| {
        let mut optimizations = cell.optimizations.iter();
        optimizations.find_map(|planned| planned.not_applicable.clone())
    });
    by_plan
        .or_else(|| inapplicable_reason(plan, summary, comparison))
        .unwrap_or_else(|| "same plan as the baseline".to_owned())
}

/// Arms with different images or claims are measured in separate legs, which are comparable only on the same nodes and
/// devices; arms with different claims are comparable on other devices of the same nodes. The devices of an arm must be the
/// same in all its legs. Only the comparison's rounds count. A round measures every pair of workers, so a rank need not be
/// on the same node in the legs of both arms.
fn different_devices(plan: &Plan, reports: &Reports, comparison: &Comparison) -> Option<Withheld> {
    let (arm, reference) = (plan.arms.get(comparison.arm)?, plan.arms.get(plan.baseline)?);
    if !arm.separation.is_leg() {
        return None;
    }
    let same_claims = arm.claims == reference.claims;
    let last_round = comparison.ended.map_or(u32::MAX, |ended| ended.rounds);
    let machines = |arm: usize| -> BTreeSet<String> {
        let legs: BTreeSet<u32> = plan.legs_of_arm(arm, last_round).map(|leg| leg.leg).collect();
        let hellos = reports.hellos.iter().filter(|hello| legs.contains(&hello.leg));
        let machine = hellos.map(|hello| {
            let environment = &hello.record.environment;
            match same_claims {
                true => {
                    let devices = environment.rdma_devices.join(" ");
                    format!("{} [{devices}]", environment.node_or_hostname())
                }
                false => environment.node_or_hostname().to_owned(),
            }
        });
        machine.collect()
    };
    let (own, baseline) = (machines(comparison.arm), machines(plan.baseline));
    if let Some(differs) = own.symmetric_difference(&baseline).next() {
        return Some(Withheld::DifferentDevices {
            message: format!("only one of the two ran on {differs}"),
        });
    }
    let claimed = [comparison.arm, plan.baseline].map(|index| {
        let claims = plan.arms.get(index)?.claims.is_some();
        claims.then(|| ObtainedDevices::new(plan, reports, index, last_round))
    });
    let [Some(own), Some(baseline)] = &claimed else {
        return None;
    };
    let changed = [(arm, own), (reference, baseline)]
        .into_iter()
        .find_map(|(arm, devices)| {
            let changed = devices.changed()?;
            Some(format!("only some legs of {} had {changed}", arm.name))
        });
    let message = changed.or_else(|| {
        let differs = own.differs_from(baseline).filter(|_| same_claims)?;
        Some(format!("only one of the two had {differs}"))
    })?;
    Some(Withheld::DifferentDevices { message })
}
