//! Finds settings under which an optimization or an operation does not have the expected effect. Performs no I/O.

use std::collections::BTreeSet;

use crds::units::Size;
use crds::v1alpha1::{LibfabricProvider, TransferOperation, TransportSpec};

use super::note::{Notes, Severity};
use crate::plan::{Arm, Cell, LIBRARY_NOT_USED, Plan, PlannedScenario, Role, Separation};

/// Maximum length in bytes of a two-sided message with efa-direct: one packet of the device.
const EFA_DIRECT_MESSAGE_BYTES: u64 = 8 * 1024;

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    check_doorbell(plan, notes);
    check_library(plan, notes);
    check_single_rail(plan, notes);
    for scenario in &plan.scenarios {
        check_identical(plan, scenario, notes);
        check_batches(plan, scenario, notes);
        check_window(scenario, notes);
        check_message_length(plan, scenario, notes);
        check_delivery(plan, scenario, notes);
    }
    check_expectations(plan, notes);
}

/// Names of the variants that satisfy `condition`, separated by commas.
pub(super) fn variants_where(plan: &Plan, condition: impl Fn(&Arm) -> bool) -> String {
    let arms = plan
        .arms
        .iter()
        .filter(|arm| arm.control.is_none() && condition(arm));
    let names: Vec<_> = arms.map(|arm| arm.name.as_str()).collect();
    names.join(", ")
}

/// Reports doorbell batching on transports without doorbells.
fn check_doorbell(plan: &Plan, notes: &mut Notes) {
    let names: BTreeSet<String> = plan.transports().filter_map(without_doorbell).collect();
    for transport in names {
        let arms = variants_where(plan, |arm| {
            arm.doorbell_max_batch.is_some()
                && without_doorbell(plan.transport_of(arm)).as_ref() == Some(&transport)
        });
        if !arms.is_empty() {
            notes.add(
                Severity::Notice,
                format!("{transport} has no doorbell: FI_MORE in {arms} will be RequestedOnly at best"),
            );
        }
    }
}

/// Describes `transport` if it has no doorbell.
fn without_doorbell(transport: &TransportSpec) -> Option<String> {
    match transport {
        TransportSpec::Libfabric(libfabric) => match libfabric.provider {
            LibfabricProvider::Efa | LibfabricProvider::EfaDirect | LibfabricProvider::Verbs => None,
            provider => Some(format!("provider {}", provider.name())),
        },
        TransportSpec::Loopback(_) => Some("loopback".to_owned()),
        // ibverbs rings a doorbell, and `check_library` reports doorbell batching with UCX and NIXL.
        TransportSpec::Ucx(_) | TransportSpec::Nixl(_) | TransportSpec::Verbs(_) => None,
    }
}

/// Whether any arm uses libfabric with `provider`.
fn uses_provider(plan: &Plan, provider: LibfabricProvider) -> bool {
    plan.transports().any(
        |transport| matches!(transport, TransportSpec::Libfabric(libfabric) if libfabric.provider == provider),
    )
}

/// Reports optimizations that the library does not offer.
fn check_library(plan: &Plan, notes: &mut Notes) {
    for (library, name, instead) in [
        ("ucx", "UCX", "UCX settings or presets"),
        ("nixl", "NIXL", "backend parameters"),
    ] {
        let arms = variants_where(plan, |arm| {
            let requests = arm.inject_max_bytes.is_some() || arm.doorbell_max_batch.is_some();
            requests && plan.transport_of(arm).library() == library
        });
        if !arms.is_empty() {
            notes.add(
                Severity::Warning,
                format!(
                    "{name} has neither an inject call nor FI_MORE, so inject and doorbell in {arms} do not apply at any \
                     size: compare {instead} instead"
                ),
            );
        }
    }
}

fn check_single_rail(plan: &Plan, notes: &mut Notes) {
    let coalesces = |arm: &Arm| arm.striping.policy == crds::striping::StripingPolicy::NixlCoalesce;
    let arms = variants_where(plan, coalesces);
    if plan.transport.rails() == 1 && !arms.is_empty() {
        notes.add(
            Severity::Warning,
            format!(
                "the transport has only one rail, so coalescing in {arms} does not apply at any size: use several rails"
            ),
        );
    }
}

/// Reports writes whose completion does not mean that the data is in the target's memory. rxm accepts
/// FI_DELIVERY_COMPLETE, but passes writes to the verbs provider, which does not support it.
fn check_delivery(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    let over_verbs = plan
        .transports()
        .any(|transport| matches!(transport, TransportSpec::Verbs(_)));
    let workload = &scenario.assignment.workload;
    let writes = workload.is_pipelined() && workload.writes();
    if writes && (over_verbs || uses_provider(plan, LibfabricProvider::Verbs)) {
        notes.add(
            Severity::Notice,
            format!(
                "scenario {}: over verbs, a write is complete when the target's NIC has acknowledged it, which may be \
                 before the data is in memory; use WriteImmediate to measure until the data arrives",
                scenario.assignment.name
            ),
        );
    }
}

/// Reports the sizes at which an arm is identical to the baseline, so that its effect is noise.
fn check_identical(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    for (index, arm) in plan
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.control.is_none())
    {
        let identical = cells(scenario, index).filter(|cell| cell.role == Some(Role::NegativeControl));
        let sizes: Vec<_> = identical.map(|cell| Size(cell.size_bytes).to_string()).collect();
        if !sizes.is_empty() {
            let (name, sizes) = (&scenario.assignment.name, sizes.join(", "));
            let reason = match plan.uses_library(scenario, index) {
                true => format!("{} posts exactly as the baseline does at {sizes}", arm.name),
                false => format!(
                    "{LIBRARY_NOT_USED}, and {} changes nothing else at {sizes}, so there is no verdict",
                    arm.name
                ),
            };
            notes.add(
                Severity::Notice,
                format!("scenario {name}: {reason}: negative control"),
            );
        }
    }
}

fn cells(scenario: &PlannedScenario, arm: usize) -> impl Iterator<Item = &Cell> {
    scenario.cells.iter().filter(move |cell| cell.arm == arm)
}

fn check_batches(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    let workload = &scenario.assignment.workload;
    if !workload.is_pipelined() {
        return;
    }
    let is_read = workload.operation() == TransferOperation::Read;
    for (index, arm) in plan.arms.iter().enumerate() {
        let single_post = cells(scenario, index).filter(|cell| cell.posts_per_burst < 2);
        let sizes: Vec<_> = single_post
            .map(|cell| Size(cell.size_bytes).to_string())
            .collect();
        if arm.doorbell_max_batch.is_some() && !sizes.is_empty() && !is_read {
            notes.add(
                Severity::Warning,
                format!(
                    "scenario {}: {} has only one post per rail per burst at {}, so no doorbell is saved: raise batch \
                     to {} or more",
                    scenario.assignment.name,
                    arm.name,
                    sizes.join(", "),
                    2 * plan.transport.rails()
                ),
            );
        }
    }
}

fn check_window(scenario: &PlannedScenario, notes: &mut Notes) {
    let workload = &scenario.assignment.workload;
    let (window, batch) = (workload.window(), workload.batch());
    if batch > 1 && window < 2 * batch {
        notes.add(
            Severity::Notice,
            format!(
                "scenario {}: window {window} is less than two bursts of {batch}, so the fabric is idle while a burst is \
                 posted",
                scenario.assignment.name
            ),
        );
    }
}

fn check_message_length(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    let workload = &scenario.assignment.workload;
    let two_sided = workload.operation() == TransferOperation::Send
        && workload.largest_message(scenario.assignment.max_size_bytes) > 0;
    let direct = uses_provider(plan, LibfabricProvider::EfaDirect);
    let longest = scenario
        .cells
        .iter()
        .map(|cell| cell.last_chunk_bytes)
        .max()
        .unwrap_or(0);
    if two_sided && direct && longest > EFA_DIRECT_MESSAGE_BYTES {
        notes.add(
            Severity::Warning,
            format!(
                "scenario {}: efa-direct sends at most one packet per message (about {}) and will reject {}: use Write, \
                 or provider efa",
                scenario.assignment.name,
                Size(EFA_DIRECT_MESSAGE_BYTES),
                Size(longest)
            ),
        );
    }
}

/// Reports the sizes in expectations at which none of the arm's optimizations applies.
fn check_expectations(plan: &Plan, notes: &mut Notes) {
    for (index, expectation) in plan.expectations.iter().enumerate() {
        let scenario = plan
            .scenarios
            .iter()
            .find(|scenario| scenario.assignment.name == expectation.scenario);
        let arm = plan.arms.iter().position(|arm| arm.name == expectation.variant);
        let (Some(scenario), Some(arm)) = (scenario, arm) else {
            continue;
        };
        let range = expectation.sizes.unwrap_or_default();
        let ineffective = cells(scenario, arm)
            .filter(|cell| range.contains(Size(cell.size_bytes)) && is_ineffective(plan, cell));
        let sizes: Vec<_> = ineffective
            .map(|cell| Size(cell.size_bytes).to_string())
            .collect();
        if !sizes.is_empty() {
            notes.add(
                Severity::Warning,
                format!(
                    "expectation {index}: no optimization of {} applies at {} in scenario {}, so a change there would \
                     be noise",
                    expectation.variant,
                    sizes.join(", "),
                    expectation.scenario
                ),
            );
        }
    }
}

/// Whether the arm of `cell` does the same as the baseline, or differs from it only in optimizations that do not apply in
/// the cell.
fn is_ineffective(plan: &Plan, cell: &Cell) -> bool {
    let tuning_only = plan
        .arms
        .get(cell.arm)
        .is_some_and(|arm| arm.separation == Separation::Tuning);
    let none_applies = cell
        .optimizations
        .iter()
        .all(|planned| planned.not_applicable.is_some());
    cell.role == Some(Role::NegativeControl)
        || (tuning_only && none_applies && !cell.optimizations.is_empty())
}
