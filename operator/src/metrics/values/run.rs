//! Reads the values of a run as a whole, with bounded lists and strings.

use std::collections::BTreeSet;

use campaign::format::clipped;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, Condition, ConditionType, ExpectationOutcome};
use jiff::Timestamp;

use super::{ConditionValue, RunValues};

/// Maximum length of a label value in characters, which is enough for library paths and node names.
const MAX_LABEL: usize = 256;
/// Maximum number of environment values per kind.
const MAX_VALUES: usize = 8;
/// Maximum number of nodes, which equals the maximum number of workers.
const MAX_NODES: usize = 64;

/// Reads all values except the rows.
pub(in crate::metrics) fn values(run: &BenchmarkRun, status: &BenchmarkRunStatus) -> RunValues {
    let text = |text: &str| clipped(text, MAX_LABEL).into_boxed_str();
    let metadata = &run.metadata;
    let created = metadata.creation_timestamp.as_ref();
    let nodes = status.placement.iter().flat_map(|placement| &placement.nodes);
    RunValues {
        namespace: text(metadata.namespace.as_deref().unwrap_or_default()),
        name: text(metadata.name.as_deref().unwrap_or_default()),
        created: created.map(|created| created.0.as_second()),
        finished: finish_time(status),
        state: status.state,
        outcome: status.outcome,
        conditions: conditions(status),
        blocks: status
            .progress
            .as_ref()
            .map(|progress| (progress.blocks_done, progress.blocks_total)),
        provider: text(status.fabric.as_ref().map_or("", |fabric| &fabric.provider)),
        baseline: text(&run.spec.baseline),
        environment: environment(status),
        nodes: distinct(nodes, MAX_NODES).into(),
        node_deviations: node_deviations(status),
        proof: status.fabric.as_ref().map(|fabric| fabric.proof),
        expectations: [
            ExpectationOutcome::Met,
            ExpectationOutcome::NotMet,
            ExpectationOutcome::Inconclusive,
        ]
        .map(|outcome| {
            let all = status.expectations.iter();
            all.filter(|expectation| expectation.outcome == outcome).count() as u32
        }),
        names: Default::default(),
        rows: Default::default(),
        omitted: status.omitted_values.unwrap_or(0),
    }
}

fn node_deviations(status: &BenchmarkRunStatus) -> Box<[(Box<str>, i64)]> {
    // Duplicate names would produce duplicate series, which parsers reject.
    let mut seen = BTreeSet::new();
    let nodes = status.nodes.iter().take(MAX_NODES);
    let nodes = nodes.filter(|node| seen.insert(&node.name));
    nodes
        .map(|node| (clipped(&node.name, MAX_LABEL).into(), node.deviation_ppm))
        .collect()
}

/// Returns the finish time from the controller state, or from the conditions of a local run.
fn finish_time(status: &BenchmarkRunStatus) -> Option<i64> {
    let recorded = status
        .execution
        .as_ref()
        .and_then(|execution| execution.finished_at.as_ref());
    let is_final = |condition: &&Condition| {
        let final_types = [ConditionType::Complete, ConditionType::Failed];
        condition.is_true() && final_types.iter().any(|type_| condition.has_type(*type_))
    };
    let mut finished = status.conditions.iter().filter(is_final);
    let from_conditions = || finished.next().map(|condition| &condition.last_transition_time);
    let time: Timestamp = recorded.or_else(from_conditions)?.parse().ok()?;
    Some(time.as_second())
}

fn conditions(status: &BenchmarkRunStatus) -> Box<[ConditionValue]> {
    let value = |type_: ConditionType| {
        let mut all = status.conditions.iter();
        let condition = all.find(|condition| condition.has_type(type_))?;
        let is_true = match condition.status.as_str() {
            "True" => true,
            "False" => false,
            _ => return None,
        };
        Some(ConditionValue {
            type_,
            is_true,
            reason: clipped(&condition.reason, MAX_LABEL).into(),
        })
    };
    ConditionType::ALL.into_iter().filter_map(value).collect()
}

fn environment(status: &BenchmarkRunStatus) -> Box<[(&'static str, Box<str>)]> {
    let Some(environment) = &status.environment else {
        return Box::default();
    };
    let kinds = [
        ("kernel", &environment.kernels),
        ("cpu_model", &environment.cpu_models),
        ("library", &environment.libraries),
        ("polling", &environment.polling),
    ];
    let values = kinds.into_iter().flat_map(|(kind, values)| {
        let values = distinct(values.iter(), MAX_VALUES);
        values.into_iter().map(move |value| (kind, value))
    });
    values.collect()
}

/// Returns the first `max` distinct strings, each clipped to [`MAX_LABEL`] characters.
fn distinct<'a>(texts: impl Iterator<Item = &'a String>, max: usize) -> Vec<Box<str>> {
    let mut seen = BTreeSet::new();
    let clipped = texts.map(|text| clipped(text, MAX_LABEL).into_boxed_str());
    clipped
        .filter(|text| seen.insert(text.clone()))
        .take(max)
        .collect()
}
