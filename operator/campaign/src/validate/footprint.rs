//! The workload of a memory footprint, and its numbers of consumers.

use std::collections::BTreeSet;

use crds::assignment::{Extent, FootprintWorkload, Workload};
use crds::v1alpha1::MemoryFootprint;

use super::reporter::Reporter;
use super::{ValidatedScenario, counts};

/// Maximum number of consumers, as in the PyIsolate memory benchmark.
pub(super) const MAX_CONSUMERS: u32 = 100;
/// Maximum number of different numbers of consumers in a scenario.
pub(super) const MAX_COUNTS: usize = 16;

/// The workload with the first number of consumers.
pub(super) fn workload(given: &MemoryFootprint) -> Workload {
    Workload::MemoryFootprint(with_consumers(
        given,
        given.consumers.0.first().copied().unwrap_or(1),
    ))
}

fn with_consumers(given: &MemoryFootprint, consumers: u32) -> FootprintWorkload {
    FootprintWorkload {
        consumers,
        distributions: given.iterations,
        gpu: None,
        timeout_seconds: given.timeout_seconds,
        measured: Extent::Iterations(given.iterations.saturating_mul(consumers)),
    }
}

/// One scenario for each number of consumers in `given`, in spec order. Reports numbers that are out of bounds or repeated.
pub(super) fn expand(
    path: &str,
    scenario: ValidatedScenario,
    given: &MemoryFootprint,
    report: &mut Reporter,
) -> Vec<ValidatedScenario> {
    let consumers = &given.consumers.0;
    let different: BTreeSet<u32> = consumers.iter().copied().collect();
    let in_bounds = (1..=MAX_COUNTS).contains(&consumers.len())
        && consumers.iter().all(|count| (1..=MAX_CONSUMERS).contains(count));
    if !in_bounds || different.len() != consumers.len() {
        let field = format!("{path}.memoryFootprint.consumers");
        report.add(
            field,
            format!(
                "{consumers:?} is not a number from 1 to {MAX_CONSUMERS}, or a list of 1 to {MAX_COUNTS} different \
                 numbers from 1 to {MAX_CONSUMERS}. Change it"
            ),
        );
    }
    counts::check_length(path, &scenario.assignment.name, consumers, report);
    counts::expand(scenario, consumers, |workload, index| {
        if let (Workload::MemoryFootprint(footprint), Some(count)) = (workload, consumers.get(index)) {
            *footprint = FootprintWorkload {
                gpu: footprint.gpu,
                ..with_consumers(given, *count)
            };
        }
    })
}
