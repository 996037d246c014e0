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
mod names;
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
mod validated;
mod variants;

use crds::v1alpha1::BenchmarkRun;

pub use names::{MAX_LABEL, check_name, is_label};
pub use problem::{Problem, ProblemKind, Problems};
use reporter::Reporter;
pub use validated::{ValidatedRun, ValidatedScenario, ValidatedVariant};

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

#[cfg(test)]
mod tests;
