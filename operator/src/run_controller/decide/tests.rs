//! Tests for the decision rules, including reasons and messages.

mod cleanup;
mod fixture;
mod measuring;
mod simulation;
mod starting;

use std::collections::BTreeSet;

use crds::record::FailureReason;
use crds::v1alpha1::AttemptState;

use super::*;
use crate::run_controller::observed::{ContainerReason, CreationRejected, JobOutcome, PodPhase, Preflight};
use fixture::{Scene, complete_end_record, failure_end_record, second};

fn pending(decision: &Decision) -> (&str, &str) {
    match &decision.phase {
        Some(Phase::Pending { reason, message }) => (reason.as_str(), message),
        other => panic!("not pending: {other:?}"),
    }
}

fn failed(decision: &Decision) -> (&str, &str) {
    let Action::RecordProgress(state) = &decision.action else {
        panic!("not recorded: {:?}", decision.action)
    };
    assert!(state.finished_at.is_some());
    match &decision.phase {
        Some(Phase::Failed { reason, message }) => (reason.as_str(), message),
        other => panic!("not failed: {other:?}"),
    }
}

fn recorded(decision: Decision) -> ExecutionState {
    match decision.action {
        Action::RecordProgress(state) => *state,
        other => panic!("not recorded: {other:?}"),
    }
}
