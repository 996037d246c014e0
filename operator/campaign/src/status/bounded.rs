//! Limits the size of a status by omitting detail in a fixed order. Performs no I/O.
//!
//! Every client that watches runs receives every status update, so a status must stay small. The records and reports
//! contain all details; a warning in the status lists what was omitted. These steps are taken in order until the status
//! fits:
//!
//! 1. Most messages are truncated to [`SHORT_TEXT`] characters, and the lists of warnings and of the environment to 16
//!    entries.
//! 2. Results lose their disturbances, which the warnings summarize.
//! 3. Optimization reasons are omitted.
//! 4. Comparisons lose their minimum detectable effect and the number of rounds that would settle them.
//! 5. Results lose their operation counts.
//! 6. Results lose all values except p50, p99 and throughput.
//! 7. Pairs and nodes are omitted.
//! 8. Sweeps lose their points.
//! 9. Factor effects lose their reasons.
//! 10. Results are omitted, starting with the last.
//! 11. Comparisons are omitted: negative controls first, then `NoChange`, then `Inconclusive` and comparisons without a
//!     verdict, then the others. Each group starts with its last comparison.

use crds::quantity::Priority;
use crds::v1alpha1::{ArmResult, BenchmarkRunStatus, ComparisonResult, Verdict};
use serde::Serialize;

use crate::format::clipped;

/// Maximum size of a status as JSON, in bytes: 64 KiB minus a reserve for the fields that the API server adds.
pub const MAX_STATUS_BYTES: usize = 62 * 1024;
/// Maximum length of a truncated string, in characters.
pub const SHORT_TEXT: usize = 120;
/// Maximum number of warnings, and of entries in each list of the environment, in a reduced status.
const MAX_REDUCED_LIST: usize = 16;
/// Bytes reserved for the warning about omissions.
const WARNING_BYTES: usize = 1024;

/// Start of the warning about omissions.
const REDUCED: &str = "to keep the status below 64 KiB, ";

/// Omits some detail from a status.
type Step = fn(&mut BenchmarkRunStatus);

/// Omits as much detail from `status` as needed to fit within the size limit. A status that already fits is returned
/// unchanged.
pub fn fit(status: BenchmarkRunStatus) -> BenchmarkRunStatus {
    match length(&status) <= MAX_STATUS_BYTES {
        true => status,
        false => reduced(status),
    }
}

/// Whether [`reduced`] has omitted detail from `status`.
pub fn is_reduced(status: &BenchmarkRunStatus) -> bool {
    status
        .warnings
        .first()
        .is_some_and(|warning| warning.starts_with(REDUCED))
}

/// Omits as much detail from `status` as needed to fit within the size limit, at least that of the first step. Messages that
/// have been truncated before remain the same.
pub fn reduced(mut status: BenchmarkRunStatus) -> BenchmarkRunStatus {
    let (results, comparisons) = (status.results.len(), status.comparisons.len());
    let values_before = count_values(&status);
    let limit = MAX_STATUS_BYTES - WARNING_BYTES;
    let steps: [(Step, &str); 9] = [
        (shorten_messages, "long messages are truncated"),
        (drop_disturbances, "disturbances of results are omitted"),
        (drop_reasons, "optimization reasons are omitted"),
        (
            thin_comparisons,
            "minimum detectable effects and rounds to settle are omitted",
        ),
        (drop_iterations, "operation counts are omitted"),
        (
            thin_results,
            "all result values except p50, p99 and throughput are omitted",
        ),
        (drop_pairs, "deviating pairs and nodes are omitted"),
        (drop_points, "sweep points are omitted"),
        (drop_factor_reasons, "reasons of factor effects are omitted"),
    ];
    let mut omissions = Vec::new();
    for (index, (step, what)) in steps.into_iter().enumerate() {
        if index == 0 || length(&status) > limit {
            step(&mut status);
            omissions.push(what.to_owned());
        }
    }
    let excess_bytes = length(&status).saturating_sub(limit);
    drop_results(&mut status, excess_bytes);
    let excess_bytes = length(&status).saturating_sub(limit);
    drop_comparisons(&mut status, excess_bytes);
    let describe_omitted = |before: usize, now: usize, what: &str| {
        (now < before).then(|| format!("{} of {before} {what} are omitted", before - now))
    };
    omissions.extend(describe_omitted(results, status.results.len(), "results"));
    omissions.extend(describe_omitted(
        comparisons,
        status.comparisons.len(),
        "comparisons",
    ));
    let warning = format!(
        "{REDUCED}{}; reports and records are complete",
        omissions.join(", ")
    );
    status.warnings.insert(0, warning);
    let omitted_values = values_before.saturating_sub(count_values(&status));
    let omitted_values = omitted_values.saturating_add(status.omitted_values.unwrap_or(0));
    status.omitted_values = (omitted_values > 0).then_some(omitted_values);
    status
}

/// Number of measured values in all results and comparisons.
fn count_values(status: &BenchmarkRunStatus) -> u32 {
    let results = status.results.iter().map(count_result_values);
    results
        .chain(status.comparisons.iter().map(count_comparison_values))
        .sum()
}

/// Number of measured values in a result.
pub(super) fn count_result_values(result: &ArmResult) -> u32 {
    (result.values.len() + result.protocols.len()) as u32
}

/// Number of measured values in a comparison.
pub(super) fn count_comparison_values(comparison: &ComparisonResult) -> u32 {
    let numbers = [comparison.effect_ppm, comparison.lower_ppm, comparison.upper_ppm];
    let counts = usize::from(comparison.minimum_detectable_ppm.is_some())
        + usize::from(comparison.rounds_to_settle.is_some());
    (numbers.iter().flatten().count() + counts) as u32
}

/// Size of `part` as JSON, in bytes.
fn length(part: &impl Serialize) -> usize {
    // Serializing strings, numbers and lists into memory cannot fail.
    serde_json::to_vec(part).map_or(0, |json| json.len())
}

fn shorten(text: &mut String) {
    *text = clipped(text, SHORT_TEXT);
}

fn shorten_messages(status: &mut BenchmarkRunStatus) {
    for result in &mut status.results {
        result.reason.iter_mut().for_each(shorten);
        let optimizations = result.optimizations.iter_mut();
        optimizations.for_each(|optimization| shorten(&mut optimization.reason));
    }
    for comparison in &mut status.comparisons {
        comparison.reason.iter_mut().for_each(shorten);
    }
    for effect in &mut status.factor_effects {
        effect.reason.iter_mut().for_each(shorten);
    }
    for expectation in &mut status.expectations {
        shorten(&mut expectation.text);
        shorten(&mut expectation.reason);
    }
    if let Some(execution) = &mut status.execution {
        // Readers care most about the last attempt.
        let older = execution.attempts.len().saturating_sub(1);
        let attempts = execution.attempts.iter_mut().take(older);
        attempts
            .filter_map(|attempt| attempt.message.as_mut())
            .for_each(shorten);
    }
    if let Some(environment) = &mut status.environment {
        let lists = [
            &mut environment.kernels,
            &mut environment.cpu_models,
            &mut environment.libraries,
            &mut environment.polling,
            &mut environment.instance_types,
            &mut environment.devices,
        ];
        for list in lists {
            list.iter_mut().for_each(shorten);
            list.truncate(MAX_REDUCED_LIST);
        }
    }
    let more = status.warnings.len().saturating_sub(MAX_REDUCED_LIST);
    status.warnings.truncate(MAX_REDUCED_LIST);
    status.warnings.iter_mut().for_each(shorten);
    if more > 0 {
        status.warnings.push(format!(
            "{more} more warnings are available only in the records and reports"
        ));
    }
}

fn drop_disturbances(status: &mut BenchmarkRunStatus) {
    keep_values_above(Priority::Disturbance, status);
}

/// Omits the values of all quantities with at most this priority.
fn keep_values_above(priority: Priority, status: &mut BenchmarkRunStatus) {
    for result in &mut status.results {
        result
            .values
            .retain(|quantity| quantity.definition().priority > priority);
    }
}

fn drop_reasons(status: &mut BenchmarkRunStatus) {
    let optimizations = status
        .results
        .iter_mut()
        .flat_map(|result| &mut result.optimizations);
    optimizations.for_each(|optimization| optimization.reason.clear());
}

fn drop_factor_reasons(status: &mut BenchmarkRunStatus) {
    for effect in &mut status.factor_effects {
        effect.reason = None;
    }
}

fn drop_iterations(status: &mut BenchmarkRunStatus) {
    keep_values_above(Priority::Iterations, status);
}

fn thin_results(status: &mut BenchmarkRunStatus) {
    keep_values_above(Priority::Detail, status);
    for result in &mut status.results {
        result.protocols.clear();
    }
}

fn thin_comparisons(status: &mut BenchmarkRunStatus) {
    for comparison in &mut status.comparisons {
        comparison.minimum_detectable_ppm = None;
        comparison.rounds_to_settle = None;
    }
}

fn drop_pairs(status: &mut BenchmarkRunStatus) {
    status.pairs.clear();
    status.nodes.clear();
}

fn drop_points(status: &mut BenchmarkRunStatus) {
    for sweep in &mut status.sweeps {
        sweep.points.clear();
    }
}

/// Omits results, starting with the last, until the status is smaller by `excess_bytes`.
fn drop_results(status: &mut BenchmarkRunStatus, excess_bytes: usize) {
    let mut freed_bytes = 0;
    while freed_bytes < excess_bytes {
        let Some(result) = status.results.pop() else {
            return;
        };
        freed_bytes += length(&result) + 1;
    }
}

/// Omits comparisons, starting with the least informative, until the status is smaller by `excess_bytes`. The remaining
/// comparisons keep their order.
fn drop_comparisons(status: &mut BenchmarkRunStatus, excess_bytes: usize) {
    let mut order: Vec<usize> = (0..status.comparisons.len()).collect();
    order.sort_by_key(|index| {
        (
            status.comparisons.get(*index).map(priority),
            std::cmp::Reverse(*index),
        )
    });
    let mut freed_bytes = 0;
    let mut dropped = std::collections::BTreeSet::new();
    for index in order {
        if freed_bytes >= excess_bytes {
            break;
        }
        freed_bytes += status
            .comparisons
            .get(index)
            .map_or(0, |comparison| length(comparison) + 1);
        dropped.insert(index);
    }
    let mut index = 0;
    status.comparisons.retain(|_| {
        index += 1;
        !dropped.contains(&(index - 1))
    });
}

/// Priority of a comparison: comparisons with a higher priority are omitted later.
fn priority(comparison: &ComparisonResult) -> u8 {
    match comparison.verdict {
        _ if comparison.negative_control => 0,
        Some(Verdict::NoChange) => 1,
        Some(Verdict::Inconclusive) | None => 2,
        Some(Verdict::Improved | Verdict::Regressed) => 3,
    }
}

#[cfg(test)]
mod tests;
