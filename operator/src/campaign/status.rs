//! The status of a run: what its evaluation says, in bounded lists and texts. Pure; times come in as arguments.

mod bounded;
mod conditions;
mod results;

use crds::v1alpha1::{
    BenchmarkRunStatus, FabricSummary, PlacementStatus, Progress, Reason, RecordsReference, State,
};

use super::evaluate::Evaluation;
use super::figures::{self, clipped};
use super::plan::Plan;
use super::summarize::Environment;
use crds::v1alpha1::Metric;
use results::Bounded;

pub use bounded::{MAX_STATUS_BYTES, SHORT_TEXT, fit};

/// Longest text of a status, in characters.
pub const MAX_TEXT: usize = 1024;
/// Most warnings of a status.
pub const MAX_WARNINGS: usize = 64;
/// Most pairs of nodes, those that deviate most: the schema's bound.
pub const MAX_PAIRS: usize = 16;
/// Most nodes: the schema's bound.
pub const MAX_NODES: usize = 64;
/// Most results, and most comparisons: with their texts they stay well under the 1.5 MiB that an object may have.
pub const MAX_RESULTS: usize = 512;

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Accepted, no worker yet.
    Pending {
        /// What it waits for: a closed word, and a sentence.
        reason: Reason,
        /// The sentence.
        message: String,
    },
    /// Workers run.
    Running,
    /// Stopped by its user.
    Suspended,
    /// It ended with every block done.
    Complete,
    /// It ended without, or without a measured case.
    Failed {
        /// A closed word for programs.
        reason: Reason,
        /// A sentence for people.
        message: String,
    },
}

impl Phase {
    /// How a run ended of which every block is done: a run without a single measured case did not succeed.
    pub fn finished(evaluation: &Evaluation) -> Self {
        match evaluation.summary.nothing_measured() {
            Some(message) => Self::Failed {
                reason: Reason::NothingMeasured,
                message,
            },
            None => Self::Complete,
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self, Self::Complete | Self::Failed { .. })
    }
}

/// Everything a status is made of.
#[derive(Clone, Debug)]
pub struct StatusInput<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its hash.
    pub plan_hash: &'a str,
    /// What the run is doing.
    pub phase: Phase,
    /// What the records say so far.
    pub evaluation: &'a Evaluation,
    /// Where the records are, once they are all there.
    pub records: Option<RecordsReference>,
    /// Generation of the spec.
    pub generation: Option<i64>,
    /// The time now (RFC 3339).
    pub now: &'a str,
    /// The status before this one; conditions that did not change keep its times.
    pub previous: Option<&'a BenchmarkRunStatus>,
}

/// The status of a run that was planned. An executor may add to it; [`fit`] comes last.
pub fn status(input: &StatusInput<'_>) -> BenchmarkRunStatus {
    let StatusInput {
        plan,
        evaluation,
        generation,
        ..
    } = input;
    let summary = &evaluation.summary;
    let results = results::arms(plan, summary);
    // Until something is measured, all would say that nothing is.
    let said = summary.blocks_done > 0 || input.phase.is_finished();
    let comparisons = match said {
        true => results::comparisons(plan, &evaluation.comparisons),
        false => Bounded::default(),
    };
    let left_out = results.left_out + comparisons.left_out;
    let omitted_values = results.omitted_values + comparisons.omitted_values;
    let left_out = (left_out > 0).then(|| format!("{left_out} results are only in the records and reports"));
    BenchmarkRunStatus {
        observed_generation: *generation,
        conditions: conditions::of(input),
        state: Some(state(&input.phase)),
        progress: Some(progress(summary.blocks_done, summary.blocks_total)),
        plan_hash: Some(input.plan_hash.to_owned()),
        placement: placement(&summary.environment),
        environment: (!summary.environment.workers.is_empty()).then(|| summary.environment.summary()),
        fabric: summary.fabric.as_ref().map(|fabric| FabricSummary {
            proof: fabric.proof,
            provider: clipped(&fabric.provider, MAX_TEXT),
            reason: clipped(&fabric.reason, MAX_TEXT),
            counted_bytes: fabric.counted_bytes,
            payload_bytes: fabric.payload_bytes,
        }),
        results: results.shown,
        comparisons: comparisons.shown,
        expectations: results::expectations(&evaluation.comparisons),
        pairs: results::pairs(plan, &summary.pairs),
        nodes: results::nodes(&summary.nodes),
        outcome: input.phase.is_finished().then(|| evaluation.overall().into()),
        verdict: (summary.blocks_done > 0).then(|| clipped(&evaluation.comparisons.verdict, MAX_TEXT)),
        best: best(evaluation),
        warnings: bounded(left_out.into_iter().chain(summary.warnings.iter().cloned())),
        omitted_values: (omitted_values > 0).then_some(omitted_values),
        records: input.records.clone(),
        execution: None,
    }
}

/// The status of a run whose spec cannot be planned: `message` names the field and what to do.
pub fn refused(
    message: &str,
    generation: Option<i64>,
    now: &str,
    previous: Option<&BenchmarkRunStatus>,
) -> BenchmarkRunStatus {
    BenchmarkRunStatus {
        observed_generation: generation,
        conditions: conditions::refused(message, generation, now, previous),
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

fn progress(blocks_done: u32, blocks_total: u32) -> Progress {
    Progress {
        blocks_done,
        blocks_total,
        text: format!("{blocks_done}/{blocks_total}"),
    }
}

fn placement(environment: &Environment) -> Option<PlacementStatus> {
    let last = environment.workers.iter().map(|worker| worker.leg).max()?;
    let of_leg = environment.workers.iter().filter(|worker| worker.leg == last);
    let nodes = of_leg.map(|worker| {
        let host = &worker.hello.environment;
        clipped(host.node.as_ref().unwrap_or(&host.hostname), results::MAX_NODE)
    });
    Some(PlacementStatus {
        nodes: nodes.take(MAX_NODES).collect(),
    })
}

/// The highest throughput of any arm, as text.
fn best(evaluation: &Evaluation) -> Option<String> {
    let cells = evaluation.summary.cells.iter();
    let rates = cells.filter_map(|cell| cell.metric(Metric::Throughput));
    let best = rates.map(|spread| spread.median).max_by(f64::total_cmp)?;
    Some(figures::bytes_per_second(best))
}

fn bounded(warnings: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = warnings.map(|warning| clipped(&warning, MAX_TEXT)).collect();
    if all.len() > MAX_WARNINGS {
        let more = all.len() - (MAX_WARNINGS - 1);
        all.truncate(MAX_WARNINGS - 1);
        all.push(format!(
            "{more} more warnings are only in the records and reports"
        ));
    }
    all
}
