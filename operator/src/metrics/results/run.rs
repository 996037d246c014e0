//! Metrics of a run as a whole.

use crds::v1alpha1::{FabricProof, Outcome, State};

use super::metric::{
    RUN, RUN_LABELS, RUN_NAMESPACE, ResultMetric, Samples, emit_enum_if_known, emit_single, label, metric,
    ratio,
};

const STATES: [State; 5] = [
    State::Pending,
    State::Running,
    State::Suspended,
    State::Complete,
    State::Failed,
];
const OUTCOMES: [Outcome; 4] = [
    Outcome::Passed,
    Outcome::Missed,
    Outcome::Suspect,
    Outcome::Untrusted,
];
const PROOFS: [FabricProof; 4] = [
    FabricProof::Verified,
    FabricProof::Declared,
    FabricProof::Shared,
    FabricProof::Contradicted,
];
const EXPECTATIONS: [&str; 3] = ["Met", "NotMet", "Inconclusive"];

/// Metrics of a run as a whole.
pub(super) const METRICS: [ResultMetric; 15] = [
    metric(
        "fabricbench_runs_without_series",
        "runs",
        "Number of runs whose series are omitted, oldest first, to bound the size of a scrape",
        &[],
        Samples::OmittedRuns,
    ),
    metric(
        "fabricbench_run_state",
        "",
        "State of the run",
        &[
            RUN_NAMESPACE,
            RUN,
            label("state", "Pending, Running, Suspended, Complete, Failed"),
        ],
        Samples::Run(|run, emit| emit_enum_if_known(&STATES, run.state, &[], emit)),
    ),
    metric(
        "fabricbench_run_condition",
        "",
        "Status of the condition: 1 if True, 0 if False",
        &[
            RUN_NAMESPACE,
            RUN,
            label(
                "condition",
                "Accepted, Suspended, Running, Complete, Failed, CleanupBlocked",
            ),
            label("reason", "machine-readable"),
        ],
        Samples::Run(|run, emit| {
            for condition in &run.conditions {
                emit(
                    &[condition.type_.as_str(), &condition.reason],
                    condition.is_true.into(),
                );
            }
        }),
    ),
    metric(
        "fabricbench_run_outcome",
        "",
        "Outcome of a finished run; fabricbench report exits with status 0 for Passed, 1 for Missed, and 3 for Suspect and Untrusted",
        &[
            RUN_NAMESPACE,
            RUN,
            label("outcome", "Passed, Missed, Suspect, Untrusted"),
        ],
        Samples::Run(|run, emit| emit_enum_if_known(&OUTCOMES, run.outcome, &[], emit)),
    ),
    metric(
        "fabricbench_run_blocks",
        "blocks",
        "Number of blocks in the plan",
        RUN_LABELS,
        Samples::Run(|run, emit| emit_single(run.blocks.map(|(_, total)| total.into()), emit)),
    ),
    metric(
        "fabricbench_run_blocks_done",
        "blocks",
        "Number of blocks whose records are complete and verified",
        RUN_LABELS,
        Samples::Run(|run, emit| emit_single(run.blocks.map(|(done, _)| done.into()), emit)),
    ),
    metric(
        "fabricbench_run_created_timestamp_seconds",
        "seconds",
        "Creation time of the run, in seconds since the Unix epoch",
        RUN_LABELS,
        Samples::Run(|run, emit| emit_single(run.created.map(|time| time as f64), emit)),
    ),
    metric(
        "fabricbench_run_finished_timestamp_seconds",
        "seconds",
        "Finish time of the run, in seconds since the Unix epoch",
        RUN_LABELS,
        Samples::Run(|run, emit| emit_single(run.finished.map(|time| time as f64), emit)),
    ),
    metric(
        "fabricbench_run_info",
        "",
        "Provider, as reported by the library, and baseline; always 1",
        &[RUN_NAMESPACE, RUN, label("provider", ""), label("baseline", "")],
        Samples::Run(|run, emit| emit(&[&run.provider, &run.baseline], 1.0)),
    ),
    metric(
        "fabricbench_run_environment_info",
        "",
        "Environment of the workers; always 1",
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
        "Nodes of the workers; always 1",
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
        "Median ratio of the node's pairs to the median pair across all scenarios and sizes; above 1 is worse",
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
        "Proof that the data used the requested fabric; the weakest proof of any case",
        &[
            RUN_NAMESPACE,
            RUN,
            label("proof", "Verified, Declared, Shared, Contradicted"),
        ],
        Samples::Run(|run, emit| emit_enum_if_known(&PROOFS, run.proof, &[], emit)),
    ),
    metric(
        "fabricbench_run_expectations",
        "expectations",
        "Number of expectations with this outcome",
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
        "Number of this run's values that are omitted to bound the size of the status and the scrape; its report contains them",
        RUN_LABELS,
        Samples::OmittedSeries,
    ),
];
