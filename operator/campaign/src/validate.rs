//! Checks what the schema cannot say, fills in defaults, and proves that the arms differ. Pure.
//!
//! The schema's own rules hold already: the API server has checked them, or the reader of manifest files has.

mod expectations;
mod identical;
mod memory;
mod problem;
mod scenarios;
mod variants;

use crds::assignment::{InstrumentProcess, ScenarioAssignment};
use crds::v1alpha1::{BenchmarkRun, Expectation, LibfabricProvider, Metric, Sampling, TransportSpec};

use super::figures::clipped;
use super::posting::{Burst, Tuning};
use problem::Reporter;
pub use problem::{Problem, ProblemKind, Problems};

/// A run whose every name, size and amount has been checked, with its defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedRun {
    /// Name of the run; a DNS label.
    pub name: String,
    /// Library, provider and number of rails.
    pub transport: TransportSpec,
    /// Number of workers.
    pub workers: u32,
    /// Seed, confidence, margin, control; `rounds` as the spec says, for the plan knows the default.
    pub sampling: Sampling,
    /// The variants, in the order of the spec.
    pub variants: Vec<ValidatedVariant>,
    /// Index of the baseline among them.
    pub baseline: usize,
    /// The scenarios, in the order of the spec.
    pub scenarios: Vec<ValidatedScenario>,
    /// The expectations; each names a variant and a scenario there is, and selects a size at least.
    pub expectations: Vec<Expectation>,
    /// Longest time from the first worker ready to the last record, in seconds.
    pub active_deadline_seconds: u32,
    /// Longest time a single case may take, in seconds.
    pub case_deadline_seconds: u32,
}

/// A variant with its defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedVariant {
    /// Its name.
    pub name: String,
    /// Image of its pods, where it or the run names one.
    pub image: Option<String>,
    /// Environment and library of its instrument process.
    pub process: InstrumentProcess,
    /// How it posts.
    pub tuning: Tuning,
}

impl ValidatedVariant {
    /// Whether both can share an instrument process, so that only their tuning is compared.
    pub fn shares_process(&self, other: &Self) -> bool {
        self.image == other.image && self.process == other.process
    }
}

/// A scenario with its defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedScenario {
    /// What the workers are told.
    pub assignment: ScenarioAssignment,
    /// Sizes in bytes, in the order of the spec; unique, none is 0.
    pub sizes: Vec<u64>,
    /// The metric that verdicts are read off.
    pub primary: Metric,
    /// Whether every byte is checked once before the measuring.
    pub integrity: bool,
}

impl ValidatedScenario {
    /// What it asks of the posting side.
    pub fn burst(&self) -> Burst {
        Burst::of(&self.assignment.workload)
    }
}

/// Checks a run.
///
/// # Errors
/// Every problem there is, each with the path of its field and what to do.
pub fn validate(run: &BenchmarkRun) -> Result<ValidatedRun, Problems> {
    let mut report = Reporter::default();
    let spec = &run.spec;
    let name = run.metadata.name.clone().unwrap_or_default();
    if let Err(problem) = check_name(&name) {
        report.add("metadata.name", problem);
    }
    let variants = variants::expand(spec, &mut report);
    let baseline = variants.iter().position(|variant| variant.name == spec.baseline);
    let scenarios = scenarios::expand(spec, &mut report);
    check_rails(spec, &mut report);
    memory::check(spec, &variants, &scenarios, &mut report);
    expectations::check(spec, &scenarios, &mut report);
    let Some(baseline) = baseline else {
        let known = variants.into_iter().map(|variant| variant.name).collect();
        report.add(
            "spec.baseline",
            ProblemKind::UnknownBaseline {
                name: spec.baseline.clone(),
                known,
            },
        );
        return Err(report.into_problems());
    };
    // Arms of a broken spec may be alike for the very reason that was reported.
    if report.is_empty() {
        identical::check(spec, &variants, &scenarios, &mut report);
    }
    if !report.is_empty() {
        return Err(report.into_problems());
    }
    Ok(ValidatedRun {
        name,
        transport: spec.transport.clone(),
        workers: spec.placement.workers,
        sampling: spec.sampling,
        variants,
        baseline,
        scenarios,
        expectations: spec.expectations.clone(),
        active_deadline_seconds: spec.run_policy.active_deadline_seconds,
        case_deadline_seconds: spec.run_policy.case_deadline_seconds,
    })
}

/// Checks the name of a run.
///
/// # Errors
/// What a name must be, when `name` is none.
pub fn check_name(name: &str) -> Result<(), ProblemKind> {
    match is_label(name, MAX_NAME) {
        true => Ok(()),
        false => Err(ProblemKind::RunName {
            name: clipped(name, SHOWN_NAME),
        }),
    }
}

/// Most characters that are shown of a name that is none.
const SHOWN_NAME: usize = 80;
/// Pods, services and result folders are named after the run: a DNS label with room for their endings.
const MAX_NAME: usize = 52;

/// Whether `name` is a DNS label (RFC 1123, section 2.1) of at most `longest` characters.
pub fn is_label(name: &str, longest: usize) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=longest).contains(&name.len())
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// An EFA rail is an EFA device: a worker cannot have more rails than it asks devices for.
fn check_rails(spec: &crds::v1alpha1::BenchmarkRunSpec, report: &mut Reporter) {
    let TransportSpec::Libfabric(libfabric) = &spec.transport else {
        return;
    };
    let on_efa = matches!(
        libfabric.provider,
        LibfabricProvider::Efa | LibfabricProvider::EfaDirect
    );
    if on_efa && libfabric.rails > spec.resources.efas {
        report.add(
            "spec.transport.libfabric.rails",
            ProblemKind::MoreRailsThanEfas {
                rails: libfabric.rails,
                efas: spec.resources.efas,
            },
        );
    }
}

#[cfg(test)]
mod tests;
