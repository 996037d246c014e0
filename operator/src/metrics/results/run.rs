//! What runs say as a whole.

use crds::v1alpha1::{FabricProof, Outcome, State};

use super::{OF_RUN, RUN, RUN_NAMESPACE, ResultMetric, Samples, label, metric, one, ratio, state_set};

const STATES: [State; 5] = [
    State::Pending,
    State::Running,
    State::Suspended,
    State::Complete,
    State::Failed,
];
const OUTCOMES: [Outcome; 3] = [Outcome::Passed, Outcome::Missed, Outcome::Untrusted];
const PROOFS: [FabricProof; 3] = [
    FabricProof::Verified,
    FabricProof::Declared,
    FabricProof::Contradicted,
];
const EXPECTATIONS: [&str; 3] = ["Met", "NotMet", "Inconclusive"];

/// These metrics.
pub(super) const METRICS: [ResultMetric; 15] = [
    metric(
        "fabricbench_runs_without_series",
        "runs",
        "Runs of which no series is given, so that a scrape stays bounded: the oldest",
        &[],
        Samples::RunsLeftOut,
    ),
    metric(
        "fabricbench_run_state",
        "",
        "What the run is doing",
        &[
            RUN_NAMESPACE,
            RUN,
            label("state", "Pending, Running, Suspended, Complete, Failed"),
        ],
        Samples::Run(|run, emit| state_set(&STATES, run.state, &[], emit)),
    ),
    metric(
        "fabricbench_run_condition",
        "",
        "Whether the condition holds: 1 where it is True, 0 where it is False",
        &[
            RUN_NAMESPACE,
            RUN,
            label(
                "condition",
                "Accepted, Suspended, Running, Complete, Failed, CleanupBlocked",
            ),
            label("reason", "a closed word"),
        ],
        Samples::Run(|run, emit| {
            for condition in &run.conditions {
                emit(
                    &[condition.type_.as_str(), &condition.reason],
                    condition.holds.into(),
                );
            }
        }),
    ),
    metric(
        "fabricbench_run_outcome",
        "",
        "What a finished run comes to: Passed, Missed and Untrusted are exit status 0, 1 and 3 of its report",
        &[RUN_NAMESPACE, RUN, label("outcome", "Passed, Missed, Untrusted")],
        Samples::Run(|run, emit| state_set(&OUTCOMES, run.outcome, &[], emit)),
    ),
    metric(
        "fabricbench_run_blocks",
        "blocks",
        "Blocks of the plan",
        OF_RUN,
        Samples::Run(|run, emit| one(run.blocks.map(|(_, total)| total.into()), emit)),
    ),
    metric(
        "fabricbench_run_blocks_done",
        "blocks",
        "Blocks whose last record verified",
        OF_RUN,
        Samples::Run(|run, emit| one(run.blocks.map(|(done, _)| done.into()), emit)),
    ),
    metric(
        "fabricbench_run_created_timestamp_seconds",
        "seconds",
        "When the run was created, since 1970",
        OF_RUN,
        Samples::Run(|run, emit| one(run.created.map(|time| time as f64), emit)),
    ),
    metric(
        "fabricbench_run_finished_timestamp_seconds",
        "seconds",
        "When the run ended, since 1970",
        OF_RUN,
        Samples::Run(|run, emit| one(run.finished.map(|time| time as f64), emit)),
    ),
    metric(
        "fabricbench_run_info",
        "",
        "Provider as the library returned it, and the baseline: 1",
        &[RUN_NAMESPACE, RUN, label("provider", ""), label("baseline", "")],
        Samples::Run(|run, emit| emit(&[&run.provider, &run.baseline], 1.0)),
    ),
    metric(
        "fabricbench_run_environment_info",
        "",
        "What the workers ran on: 1",
        &[
            RUN_NAMESPACE,
            RUN,
            label("kind", "kernel, cpu_model, library, polling"),
            label("value", ""),
        ],
        Samples::Run(|run, emit| {
            for (kind, value) in &run.environment {
                emit(&[kind, value], 1.0);
            }
        }),
    ),
    metric(
        "fabricbench_run_node_info",
        "",
        "Nodes of the workers: 1",
        &[RUN_NAMESPACE, RUN, label("node", "")],
        Samples::Run(|run, emit| {
            for node in &run.nodes {
                emit(&[node], 1.0);
            }
        }),
    ),
    metric(
        "fabricbench_node_deviation_ratio",
        "ratio",
        "How much worse the median of a node's pairs, scenarios and sizes is than the median pair: 1 is as good, above 1 worse",
        &[RUN_NAMESPACE, RUN, label("node", "")],
        Samples::Run(|run, emit| {
            for (node, deviation_ppm) in &run.node_deviations {
                emit(&[node], ratio(*deviation_ppm));
            }
        }),
    ),
    metric(
        "fabricbench_run_fabric_proof",
        "",
        "How it is known that the bytes used the fabric that was asked for: the weakest proof of any case",
        &[
            RUN_NAMESPACE,
            RUN,
            label("proof", "Verified, Declared, Contradicted"),
        ],
        Samples::Run(|run, emit| state_set(&PROOFS, run.proof, &[], emit)),
    ),
    metric(
        "fabricbench_run_expectations",
        "expectations",
        "How many expectations of the run have this outcome",
        &[RUN_NAMESPACE, RUN, label("outcome", "Met, NotMet, Inconclusive")],
        Samples::Run(|run, emit| {
            for (outcome, count) in EXPECTATIONS.into_iter().zip(run.expectations) {
                emit(&[outcome], count.into());
            }
        }),
    ),
    metric(
        "fabricbench_run_series_dropped",
        "series",
        "Numbers of this run that are not given, so that status and scrape stay bounded: its report has them",
        OF_RUN,
        Samples::LeftOut,
    ),
];
