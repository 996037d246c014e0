//! Lets the coordinator control this worker's flows, which run concurrently with other workers' flows.

use std::os::fd::BorrowedFd;

use crds::record::{CaseFailure, FailureReason};

use super::gate::Gate;
use super::phases::Phases;
use crate::rendezvous::message::{FlowCommand, FlowPhase};

/// Connection to the coordinator while flows run.
pub trait FlowCoordinator {
    /// Reports that all of this worker's flows have reached `phase`.
    ///
    /// # Errors
    /// Returns an error if the connection fails.
    fn report(&mut self, phase: FlowPhase) -> Result<(), CaseFailure>;

    /// Waits for the next command. Returns `None` as soon as `wake` is readable.
    ///
    /// # Errors
    /// Returns an error if the connection fails.
    fn next(&mut self, wake: BorrowedFd<'_>) -> Result<Option<FlowCommand>, CaseFailure>;
}

/// Reports the flows' phases and applies commands until all threads have ended. The threads end no later than the
/// case's deadline.
///
/// # Errors
/// Returns an error if the connection to the coordinator fails. The flows are then abandoned.
pub(super) fn coordinate_flows<'a>(
    flow_coordinator: &mut dyn FlowCoordinator,
    phases: &Phases,
    gates: impl Iterator<Item = &'a Gate> + Clone,
) -> Result<(), CaseFailure> {
    let mut reported = None;
    let result = loop {
        let reached = phases.reached_phase();
        if reached > reported {
            reported = reached;
            if let Some(phase) = reached
                && let Err(failure) = flow_coordinator.report(phase)
            {
                break Err(failure);
            }
        }
        if phases.all_ended() {
            break Ok(());
        }
        match flow_coordinator.next(phases.wake_fd()) {
            Ok(Some(FlowCommand::Abandon)) => abandon(gates.clone()),
            Ok(Some(command)) => phases.apply(command),
            Ok(None) => phases.clear_wake(),
            Err(failure) => break Err(failure),
        }
    };
    if result.is_err() {
        abandon(gates);
    }
    result
}

/// Makes the threads of all flows stop because of a failure outside the flows.
fn abandon<'a>(gates: impl Iterator<Item = &'a Gate>) {
    for gate in gates {
        gate.fail(FailureReason::Interrupted);
    }
}
