//! Validates what the schema cannot express, applies defaults, and verifies that the variants differ. Performs no I/O.
//!
//! The schema rules are assumed to hold: the API server or the manifest reader has checked them.

mod claims;
mod command;
pub(crate) mod counts;
mod devices;
pub(crate) mod durations;
mod expectations;
mod factors;
mod identical;
mod limits;
mod many_to_many;
mod memory;
mod metrics;
mod nixl;
pub(crate) mod problem;
pub(crate) mod reporter;
mod rpc;
mod scenarios;
mod seed;
pub(crate) mod sizes;
mod sweep;
mod text;
mod transports;
mod variants;

use std::collections::BTreeMap;

use crds::assignment::{InstrumentProcess, ScenarioAssignment};
use crds::v1alpha1::{
    Alignment, BenchmarkRun, Claims, Devices, Expectation, ManyToMany, Metric, Optimization, RateFormat,
    RpcChannel, Sampling, TransportSpec,
};

use super::format::clipped;
use super::posting::{Burst, Tuning};
pub use problem::{Problem, ProblemKind, Problems};
use reporter::Reporter;

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

/// Validates a run.
///
/// # Errors
/// Returns all problems, each with its field path and a fix.
pub fn validate(run: &BenchmarkRun) -> Result<ValidatedRun, Problems> {
    let mut report = Reporter::default();
    let spec = &*factors::expand(&run.spec, &mut report);
    let problems = |report: Reporter| match spec.factors {
        Some(_) => report.with_paths(factors::path_in_spec).into_problems(),
        None => report.into_problems(),
    };
    let name = run.metadata.name.clone().unwrap_or_default();
    if let Err(problem) = check_name(&name) {
        report.add("metadata.name", problem);
    }
    let variants = variants::expand(spec, &mut report);
    let baseline = variants.iter().position(|variant| variant.name == spec.baseline);
    let scenarios = scenarios::expand(spec, &mut report);
    rpc::check(spec, &scenarios, &mut report);
    command::check(spec, &mut report);
    transports::check(spec, &scenarios, &mut report);
    many_to_many::check(spec, &mut report);
    claims::check(spec, &mut report);
    devices::check(spec, &scenarios, &mut report);
    memory::check(spec, &variants, &scenarios, &mut report);
    expectations::check(spec, &scenarios, &mut report);
    limits::check(spec, &mut report);
    text::check(&run.spec, &mut report);
    let Some(baseline) = baseline else {
        let known: Vec<_> = variants.into_iter().map(|variant| variant.name).collect();
        report.unknown_name("spec.baseline", &spec.baseline, "a variant", &known);
        return Err(problems(report));
    };
    // Variants of an invalid spec may be identical because of a problem that has already been reported.
    if report.is_empty() {
        identical::check(spec, &variants, &scenarios, &mut report);
    }
    if !report.is_empty() {
        return Err(problems(report));
    }
    Ok(ValidatedRun {
        name,
        transport: spec.transport.clone(),
        workers: spec.placement.worker_count(),
        many_to_many: spec.placement.many_to_many(),
        devices: spec.devices.clone(),
        align: spec.placement.align,
        sampling: spec.sampling,
        exclusive: spec.placement.exclusive,
        seed: seed::seed(run),
        variants,
        baseline,
        factors: spec
            .factors
            .map(|factors| factors.optimizations())
            .unwrap_or_default(),
        scenarios,
        expectations: spec.expectations.clone(),
        active_deadline_seconds: spec.run_policy.active_deadline_seconds,
        case_deadline_seconds: spec.run_policy.case_deadline_seconds,
    })
}

/// Checks the name of a run.
///
/// # Errors
/// Returns the requirements for a name if `name` is not valid.
pub fn check_name(name: &str) -> Result<(), String> {
    match is_label(name, MAX_NAME) {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is not a valid name: pods and directories are named after the run, so it must consist \
             of 1 to {MAX_NAME} lowercase letters, digits and `-`, and start and end with a letter or digit. Choose \
             another name",
            name = clipped(name, MAX_SHOWN_NAME)
        )),
    }
}

/// Maximum length of an invalid name in a message, in characters.
const MAX_SHOWN_NAME: usize = 80;
/// Maximum length of a run name: pods, Services and result directories are named after the run, with suffixes, and
/// their names must remain DNS labels.
const MAX_NAME: usize = 52;

/// Maximum length of a scenario name in characters, as in the schema.
const MAX_SCENARIO_NAME: usize = 40;

/// Maximum length of a DNS label, in bytes (RFC 1123, section 2.1).
pub const MAX_LABEL: usize = 63;

/// Whether `name` is a DNS label (RFC 1123, section 2.1) of at most `max_length` characters.
pub fn is_label(name: &str, max_length: usize) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=max_length).contains(&name.len())
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// The scenarios, with only one scenario for each sweep, because a sweep's scenarios differ only in the rate.
fn one_per_sweep(scenarios: &[ValidatedScenario]) -> impl Iterator<Item = &ValidatedScenario> {
    let mut last = None;
    scenarios
        .iter()
        .filter(move |scenario| last.replace(scenario.index) != Some(scenario.index))
}

#[cfg(test)]
mod tests;
