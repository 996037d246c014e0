//! Rules of memory footprints.

pub(crate) mod summary;

use std::collections::BTreeSet;

use crds::assignment::{Extent, FootprintWorkload, ScenarioAssignment, Workload};
use crds::v1alpha1::{ManyToMany, MemoryFootprint, Metric};

use super::description;
use super::{CellCases, Context, GivenWorkload, OwnResults, Speed, WorkloadRules};
use crate::format::pluralized;
use crate::validate::{ValidatedScenario, counts, sizes};

/// Maximum number of consumers, as in the PyIsolate memory benchmark.
const MAX_CONSUMERS: u32 = 100;
/// Maximum number of different numbers of consumers in a scenario.
const MAX_COUNTS: usize = 16;

fn with_consumers(given: &MemoryFootprint, consumers: u32) -> FootprintWorkload {
    FootprintWorkload {
        consumers,
        distributions: given.iterations,
        gpu: None,
        timeout_seconds: given.timeout_seconds,
        measured: Extent::Iterations(given.iterations.saturating_mul(consumers)),
    }
}

impl GivenWorkload for MemoryFootprint {
    /// The workload with the first number of consumers.
    fn workload(&self, _context: &mut Context<'_>) -> Workload {
        let first = self.consumers.0.first().copied().unwrap_or(1);
        Workload::MemoryFootprint(with_consumers(self, first))
    }

    fn valid_sizes(&self, context: &mut Context<'_>) -> Vec<u64> {
        let path = context.workload_path();
        sizes::check(&path, &self.sizes, sizes::MAX_TENSOR_BYTES, context.report)
    }

    /// One scenario for each number of consumers, in spec order. Reports numbers that are out of bounds or repeated.
    fn expand(&self, scenario: ValidatedScenario, context: &mut Context<'_>) -> Vec<ValidatedScenario> {
        let consumers = &self.consumers.0;
        let different: BTreeSet<u32> = consumers.iter().copied().collect();
        let in_bounds = (1..=MAX_COUNTS).contains(&consumers.len())
            && consumers.iter().all(|count| (1..=MAX_CONSUMERS).contains(count));
        if !in_bounds || different.len() != consumers.len() {
            context.add(
                "consumers",
                format!(
                    "{consumers:?} is not a number from 1 to {MAX_CONSUMERS}, or a list of 1 to {MAX_COUNTS} different \
                     numbers from 1 to {MAX_CONSUMERS}. Change it"
                ),
            );
        }
        counts::check_length(context.path, &scenario.assignment.name, consumers, context.report);
        counts::expand(scenario, consumers, |workload, index| {
            if let (Workload::MemoryFootprint(footprint), Some(count)) = (workload, consumers.get(index)) {
                *footprint = FootprintWorkload {
                    gpu: footprint.gpu,
                    ..with_consumers(self, *count)
                };
            }
        })
    }
}

impl WorkloadRules for FootprintWorkload {
    fn latency_name(&self) -> &'static str {
        "distribution"
    }

    fn latency_definition(&self) -> &'static str {
        "the time to pass the tensor to one consumer"
    }

    fn operation_seconds(&self, speed: Speed) -> f64 {
        speed.latency + speed.wire
    }

    /// The CPU time of the consumers is not measured.
    fn has_metric(&self, metric: Metric) -> bool {
        metric.is_latency() || metric == Metric::MemoryPerConsumer
    }

    fn limit_seconds(&self) -> Option<f64> {
        Some(f64::from(self.timeout_seconds))
    }

    /// The window also includes releasing the tensor and reading the page tables, and its CPU time does not include the
    /// consumers.
    fn has_window_of_operations(&self) -> bool {
        false
    }

    fn has_target_memory(&self) -> bool {
        false
    }

    fn own_results(&self, cases: &CellCases<'_>) -> OwnResults {
        OwnResults {
            footprint: summary::summary(self, cases),
            ..OwnResults::default()
        }
    }

    fn has_own_tables(&self) -> bool {
        true
    }

    fn description(&self, scenario: &ScenarioAssignment, _many_to_many: Option<ManyToMany>) -> String {
        let what = format!(
            "footprint of {} · {} · at most {} s",
            pluralized(self.consumers.into(), "consumer"),
            pluralized(self.distributions.into(), "distribution"),
            self.timeout_seconds
        );
        description::with_extents(&what, scenario, "operation")
    }
}
