//! Builds a run's status from its evaluation, with bounded lists and strings. Performs no I/O; the caller passes the
//! current time.

mod bounded;
mod conditions;
mod input;
mod limits;
mod results;

use crds::v1alpha1::{
    BenchmarkRunStatus, EnvironmentSummary, FabricSummary, PlacementStatus, Progress, State,
};

use super::format::clipped;
use super::summarize::{Environment, Summary};
use results::BoundedList;

pub use bounded::{MAX_STATUS_BYTES, SHORT_TEXT, fit, is_reduced, reduced};
pub use input::{Phase, StatusInput};
pub use limits::{
    MAX_FACTOR_EFFECTS, MAX_NODES, MAX_PAIRS, MAX_PROTOCOLS, MAX_RESULTS, MAX_SWEEPS, MAX_TEXT, MAX_WARNINGS,
};

/// Builds the status of a planned run. The executor may add to it, and calls [`fit`] last.
pub fn status(input: &StatusInput<'_>) -> BenchmarkRunStatus {
    let StatusInput {
        plan,
        evaluation,
        generation,
        ..
    } = input;
    let summary = &evaluation.summary;
    let results = results::arm_results(plan, summary);
    // Before the first block, every comparison would only report that nothing has been measured.
    let has_results = summary.blocks_done > 0 || input.phase.is_finished();
    let comparisons = match has_results {
        true => results::comparisons(plan, &evaluation.comparisons),
        false => BoundedList::default(),
    };
    let omitted = results.omitted_items + comparisons.omitted_items;
    let omitted_values = results.omitted_values + comparisons.omitted_values;
    let omitted =
        (omitted > 0).then(|| format!("{omitted} results are available only in the records and reports"));
    BenchmarkRunStatus {
        observed_generation: *generation,
        conditions: conditions::conditions(input),
        state: Some(state(&input.phase)),
        progress: Some(progress(summary)),
        plan_hash: Some(plan.hash().to_owned()),
        seed: Some(plan.seed),
        placement: placement(&summary.environment),
        environment: (!summary.environment.workers.is_empty()).then(|| environment(&summary.environment)),
        fabric: summary.fabric.as_ref().map(|fabric| FabricSummary {
            proof: fabric.proof,
            provider: clipped(&fabric.provider, MAX_TEXT),
            reason: clipped(&fabric.reason, MAX_TEXT),
            counted_bytes: fabric.counted_bytes,
            payload_bytes: fabric.payload_bytes,
            foreign_bytes: fabric.foreign_bytes,
        }),
        results: results.items,
        sweeps: results::sweeps(plan, &summary.sweeps),
        comparisons: comparisons.items,
        factor_effects: match has_results {
            true => results::factor_effects(plan, &evaluation.comparisons),
            false => Vec::new(),
        },
        expectations: results::expectations(&evaluation.comparisons),
        pairs: results::pairs(plan, &summary.pairs),
        nodes: results::nodes(&summary.nodes),
        outcome: input.phase.is_finished().then(|| evaluation.outcome().into()),
        verdict: (summary.blocks_done > 0).then(|| clipped(&evaluation.comparisons.verdict, MAX_TEXT)),
        warnings: limit_warnings(omitted.into_iter().chain(summary.warnings.iter().cloned())),
        omitted_values: (omitted_values > 0).then_some(omitted_values),
        records: input.records.clone(),
        execution: None,
    }
}

/// Builds the status of a run whose spec cannot be planned. `message` names the field and says how to fix it.
pub fn rejected_status(
    message: &str,
    generation: Option<i64>,
    now: &str,
    previous: Option<&BenchmarkRunStatus>,
) -> BenchmarkRunStatus {
    BenchmarkRunStatus {
        observed_generation: generation,
        conditions: conditions::rejected_conditions(message, generation, now, previous),
        state: Some(State::Failed),
        ..BenchmarkRunStatus::default()
    }
}

fn state(phase: &Phase) -> State {
    match phase {
        Phase::Pending { .. } => State::Pending,
        Phase::Running => State::Running,
        Phase::Suspended => State::Suspended,
        Phase::Complete => State::Complete,
        Phase::Failed { .. } => State::Failed,
    }
}

fn progress(summary: &Summary) -> Progress {
    let Summary {
        blocks_done,
        blocks_total,
        blocks_skipped,
        ..
    } = *summary;
    Progress {
        blocks_done,
        blocks_total,
        blocks_skipped: summary.saved_percent.map(|_| blocks_skipped),
        saved_percent: summary.saved_percent.map(|percent| percent.round() as u32),
        text: format!("{blocks_done}/{blocks_total}"),
    }
}

fn environment(environment: &Environment) -> EnvironmentSummary {
    let mut summary = environment.summary();
    let EnvironmentSummary {
        kernels,
        cpu_models,
        libraries,
        polling,
        instance_types,
        devices,
    } = &mut summary;
    let lists = [kernels, cpu_models, libraries, polling, instance_types, devices];
    for value in lists.into_iter().flatten() {
        *value = clipped(value, MAX_TEXT);
    }
    summary
}

fn placement(environment: &Environment) -> Option<PlacementStatus> {
    let last = environment.workers.iter().map(|worker| worker.leg).max()?;
    let leg_workers = environment.workers.iter().filter(|worker| worker.leg == last);
    let nodes = leg_workers.map(|worker| {
        let host = &worker.hello.environment;
        clipped(host.node_or_hostname(), results::MAX_NODE_NAME)
    });
    Some(PlacementStatus {
        nodes: nodes.take(MAX_NODES).collect(),
    })
}

fn limit_warnings(warnings: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = warnings.map(|warning| clipped(&warning, MAX_TEXT)).collect();
    if all.len() > MAX_WARNINGS {
        let more = all.len() - (MAX_WARNINGS - 1);
        all.truncate(MAX_WARNINGS - 1);
        all.push(format!(
            "{more} more warnings are available only in the records and reports"
        ));
    }
    all
}
