//! A valid run, with defaults applied.

use std::collections::BTreeMap;

use crds::assignment::{InstrumentProcess, ScenarioAssignment};
use crds::v1alpha1::{
    Alignment, Claims, Devices, Expectation, ManyToMany, Metric, Optimization, RateFormat, RpcChannel,
    Sampling, TransportSpec,
};

use crate::posting::{Burst, Tuning};

/// A run whose names, sizes and quantities are valid, with defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedRun {
    /// Name of the run; a DNS label.
    pub name: String,
    /// Library, provider and number of rails.
    pub transport: TransportSpec,
    /// Number of workers.
    pub workers: u32,
    /// Senders and receivers of the many-to-many pattern; `None` if every pair of workers exchanges data.
    pub many_to_many: Option<ManyToMany>,
    /// GPUs, NICs and NUMA node that every worker uses.
    pub devices: Devices,
    /// Required position of each NIC relative to the memory that it accesses.
    pub align: Alignment,
    /// Sampling as in the spec. `rounds` is `None` if the spec does not set it; the planner applies the default.
    pub sampling: Sampling,
    /// Whether the worker nodes are reserved for the run.
    pub exclusive: bool,
    /// Seed of the random order.
    pub seed: u64,
    /// The variants, in spec order.
    pub variants: Vec<ValidatedVariant>,
    /// Index of the baseline in `variants`.
    pub baseline: usize,
    /// Factors whose combinations are the variants; empty if the spec lists the variants.
    pub factors: Vec<Optimization>,
    /// The scenarios, in spec order. A scenario with a sweep is replaced by one scenario for each rate.
    pub scenarios: Vec<ValidatedScenario>,
    /// The expectations. Each names an existing variant and scenario, and selects at least one size.
    pub expectations: Vec<Expectation>,
    /// Maximum total time that the workers may run, in seconds.
    pub active_deadline_seconds: u32,
    /// Deadline of a single case, in seconds.
    pub case_deadline_seconds: u32,
}

/// A variant with defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedVariant {
    /// Name of the variant.
    pub name: String,
    /// Pod image, if the variant or the run specifies one.
    pub image: Option<String>,
    /// Devices that its workers claim, if the variant or the run specifies any.
    pub claims: Option<Claims>,
    /// Environment and library of its instrument process.
    pub process: InstrumentProcess,
    /// Settings that determine how the variant posts messages.
    pub tuning: Tuning,
    /// Channel for the variant's calls in `rpc` and `memoryFootprint` scenarios.
    pub channel: RpcChannel,
    /// Arguments of the variant in command scenarios.
    pub arguments: Vec<String>,
}

impl ValidatedVariant {
    /// Whether both variants can share pods: they need the same image and the same devices.
    pub fn shares_pods(&self, other: &Self) -> bool {
        self.image == other.image && self.claims == other.claims
    }

    /// Whether both variants can share an instrument process, so that they can differ only in their tuning.
    pub fn shares_process(&self, other: &Self) -> bool {
        self.shares_pods(other) && self.process == other.process
    }
}

/// A scenario with defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedScenario {
    /// Index of the scenario in the spec.
    pub index: usize,
    /// Name of the scenario in the spec, if its load is a sweep. The name in `assignment` then also contains the rate.
    pub sweep: Option<String>,
    /// Name of the scenario in the spec, if it lists several counts of workers or consumers. The name in `assignment` then
    /// also contains the count.
    pub several_counts: Option<String>,
    /// Description of the scenario in the worker assignments.
    pub assignment: ScenarioAssignment,
    /// Sizes in bytes, in spec order; unique and above 0.
    pub sizes: Vec<u64>,
    /// The primary metric, which determines verdicts.
    pub primary: Metric,
    /// Format of the throughput in reports; `None` for the default format.
    pub rate_format: Option<RateFormat>,
    /// Whether every byte is verified once before the measured rounds.
    pub integrity: bool,
    /// Number of operations per thread that the spec sets for each size in bytes. Empty if a pilot determines the
    /// numbers, or if the workload needs no pilot.
    pub operation_counts: BTreeMap<u64, u32>,
}

impl ValidatedScenario {
    /// Messages that the posting side posts together in one burst.
    pub fn burst(&self) -> Burst {
        Burst::from(&self.assignment.workload)
    }
}

/// The scenarios, with only one scenario for each sweep, because a sweep's scenarios differ only in the rate.
pub(super) fn one_per_sweep(scenarios: &[ValidatedScenario]) -> impl Iterator<Item = &ValidatedScenario> {
    let mut last = None;
    scenarios
        .iter()
        .filter(move |scenario| last.replace(scenario.index) != Some(scenario.index))
}
