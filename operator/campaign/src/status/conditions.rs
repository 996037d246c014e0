//! The conditions of a run. They report its lifecycle, not the quality of its results.

use crds::v1alpha1::{BenchmarkRunStatus, Condition};

use super::{MAX_TEXT, Phase, StatusInput};
use crate::figures::clipped;

/// Type, whether it holds, reason, message.
type Said = (&'static str, bool, &'static str, String);

pub(super) fn of(input: &StatusInput<'_>) -> Vec<Condition> {
    let StatusInput {
        plan,
        phase,
        evaluation,
        ..
    } = input;
    let summary = &evaluation.summary;
    let blocks = format!(
        "{} of {} blocks measured",
        summary.blocks_done, summary.blocks_total
    );
    let planned = format!("{} blocks in {} legs", plan.blocks_total, plan.legs.len());
    let nothing = String::new;
    let running: Said = match phase {
        Phase::Pending { reason, message } => ("Running", false, reason, message.clone()),
        Phase::Running => ("Running", true, "WorkersRun", blocks.clone()),
        Phase::Suspended => ("Running", false, "Suspended", blocks.clone()),
        Phase::Complete | Phase::Failed { .. } => ("Running", false, "Ended", blocks.clone()),
    };
    let complete: Said = match phase {
        Phase::Complete => (
            "Complete",
            true,
            "AllBlocksMeasured",
            evaluation.comparisons.verdict.clone(),
        ),
        _ => ("Complete", false, "BlocksMissing", blocks),
    };
    let failed: Said = match phase {
        Phase::Failed { reason, message } => ("Failed", true, reason, message.clone()),
        _ => ("Failed", false, "NoFailure", nothing()),
    };
    let suspended: Said = match phase {
        Phase::Suspended => (
            "Suspended",
            true,
            "SuspendedByUser",
            "measured blocks are kept; set spec.suspend to false to resume".to_owned(),
        ),
        _ => ("Suspended", false, "NotSuspended", nothing()),
    };
    let said = [
        ("Accepted", true, "Planned", planned),
        suspended,
        running,
        complete,
        failed,
    ];
    made(said.into(), input.generation, input.now, input.previous)
}

pub(super) fn refused(
    message: &str,
    generation: Option<i64>,
    now: &str,
    previous: Option<&BenchmarkRunStatus>,
) -> Vec<Condition> {
    let said: Vec<Said> = vec![
        ("Accepted", false, "InvalidSpec", message.to_owned()),
        ("Failed", true, "InvalidSpec", message.to_owned()),
    ];
    made(said, generation, now, previous)
}

fn made(
    said: Vec<Said>,
    generation: Option<i64>,
    now: &str,
    previous: Option<&BenchmarkRunStatus>,
) -> Vec<Condition> {
    let made_one = |(type_, holds, reason, message): Said| {
        let status = if holds { "True" } else { "False" };
        let before = previous.into_iter().flat_map(|status| &status.conditions);
        let unchanged = before
            .filter(|before| before.type_ == type_ && before.status == status)
            .map(|before| before.last_transition_time.clone())
            .next();
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: clipped(&message, MAX_TEXT),
            last_transition_time: unchanged.unwrap_or_else(|| now.to_owned()),
            observed_generation: generation,
        }
    };
    said.into_iter().map(made_one).collect()
}
