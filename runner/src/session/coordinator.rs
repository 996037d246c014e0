//! Runs the rounds of an attempt and writes its records. Communicates with the workers through the gang.

mod block;
mod flows;
mod probe;
mod round;

use std::io::Write;
use std::time::Duration;

use crds::assignment::{Assignment, BlockAssignment, GRACE};
use crds::record::{CaseFailure, EndRecord, FailureReason, Record, WarningReason};

use super::Halt;
use super::endpoints::EndpointLog;
use super::gang::Gang;
use super::operation_counts::OperationCounts;
use super::setup_failures::UnreachablePairs;
use super::tournament::{Pair, disjoint_flows, flows, tournament};
use crate::attempt::{SETUP_TIMEOUT, process_of};
use crate::output::{OutputError, RecordWriter};

/// Maximum number of times in an attempt that the instruments are restarted because one of them was lost. It bounds the
/// time that is lost to a library that crashes or hangs in every case.
const MAX_RESTARTS: u32 = 8;

/// The coordinator of one attempt.
#[derive(Debug)]
pub struct Coordinator<'a, W> {
    assignment: &'a Assignment,
    gang: Gang,
    stream: RecordWriter<W>,
    /// Pairs that run each arm, divided into steps. The pairs in a step run concurrently.
    steps: Vec<Vec<Pair>>,
    /// The same pairs, divided into steps of disjoint pairs.
    disjoint_steps: Vec<Vec<Pair>>,
    endpoints: EndpointLog,
    unreachable: UnreachablePairs,
    blocks: u32,
    /// Number of times that the instruments of the current round have been restarted.
    restart: u32,
    /// Number of times that the instruments have been restarted because one of them was lost.
    replacements: u32,
    operation_counts: OperationCounts,
    /// Current case number; pairs that run concurrently have the same number.
    cases: u32,
}

impl<'a, W: Write> Coordinator<'a, W> {
    /// Creates the coordinator for the admitted workers in `gang`.
    pub fn new(assignment: &'a Assignment, gang: Gang, stream: RecordWriter<W>) -> Self {
        let (steps, disjoint_steps) = match assignment.many_to_many {
            Some(pattern) => (vec![flows(pattern)], disjoint_flows(pattern)),
            None => {
                let steps = tournament(assignment.workers);
                (steps.clone(), steps)
            }
        };
        Self {
            assignment,
            gang,
            stream,
            steps,
            disjoint_steps,
            endpoints: EndpointLog::default(),
            unreachable: UnreachablePairs::default(),
            blocks: 0,
            restart: 0,
            replacements: 0,
            operation_counts: OperationCounts::new(assignment),
            cases: 0,
        }
    }

    /// Runs all rounds, notifies the workers that the attempt has ended, and writes the end record.
    ///
    /// # Errors
    /// Returns an error if the records cannot be written. The workers are notified even in this case.
    pub fn run(mut self) -> Result<EndRecord, OutputError> {
        let halt = match self.run_rounds() {
            Ok(()) => None,
            Err(Halt::Attempt(failure)) => Some(failure),
            Err(Halt::Output(error)) => {
                let failure = CaseFailure {
                    reason: FailureReason::Interrupted,
                    message: error.to_string(),
                };
                self.gang.notify_end(&self.end_record(Some(failure)));
                return Err(error);
            }
        };
        let end = self.end_record(halt);
        // The workers are notified before the end record is written, because the write blocks if nothing reads the
        // stream.
        self.gang.notify_end(&end);
        self.write_warnings()?;
        self.stream.write(Record::End(end.clone()))?;
        Ok(end)
    }

    fn end_record(&self, failure: Option<CaseFailure>) -> EndRecord {
        EndRecord {
            blocks: self.blocks,
            complete: failure.is_none(),
            failure,
        }
    }

    fn run_rounds(&mut self) -> Result<(), Halt> {
        let assignment = self.assignment;
        for (index, round) in assignment.rounds.iter().enumerate() {
            self.restart = 0;
            let mut setup_failures = self.open(index as u32, round)?;
            if index == 0 {
                self.probe(&setup_failures)?;
            }
            let mut alive = self.gang.alive();
            // An instrument that was lost while the round was opened would be lost again.
            self.gang.take_instrument_loss();
            for block in &round.blocks {
                let cause = if self.gang.alive() != alive {
                    Some("a worker was lost")
                } else if self.gang.take_instrument_loss() && self.may_replace_instrument()? {
                    Some("an instrument was lost")
                } else {
                    None
                };
                if let Some(cause) = cause {
                    setup_failures = self.reopen(index as u32, round, cause)?;
                    alive = self.gang.alive();
                    self.gang.take_instrument_loss();
                }
                self.run_block(round, block, &setup_failures)?;
            }
            self.close(round)?;
        }
        Ok(())
    }

    /// Counts a restart that replaces a lost instrument. Returns whether it is within the limit; if not, writes a warning.
    fn may_replace_instrument(&mut self) -> Result<bool, OutputError> {
        if self.replacements == MAX_RESTARTS {
            let message = format!(
                "an instrument was lost after {MAX_RESTARTS} restarts, so its arms continue in the next round"
            );
            self.stream.warn(None, WarningReason::Limit, &message)?;
            return Ok(false);
        }
        self.replacements += 1;
        Ok(true)
    }

    /// Writes the warnings received from the workers.
    fn write_warnings(&mut self) -> Result<(), OutputError> {
        for warning in self.gang.take_warnings() {
            self.stream
                .warn(Some(warning.rank), warning.reason, &warning.message)?;
        }
        Ok(())
    }

    fn warn(&mut self, rank: u32, reason: WarningReason, message: &str) -> Result<(), OutputError> {
        self.stream.warn(Some(rank), reason, message)
    }

    fn arm_name(&self, arm: u32) -> String {
        self.assignment
            .arms
            .get(arm as usize)
            .map(|arm| arm.name.clone())
            .unwrap_or_default()
    }

    fn process_of(&self, arm: u32) -> u32 {
        process_of(self.assignment, arm)
    }

    /// Timeout for a worker to finish a case of `arm` in `block`, or one phase of its flows.
    fn case_timeout(&self, block: &BlockAssignment, arm: u32) -> Duration {
        let limits = self.assignment.case_limits(block.scenario, arm, block.size_bytes);
        limits.coordinator
    }

    /// Timeout for a worker to finish a step without a payload.
    fn step_timeout(&self) -> Duration {
        self.assignment.step_limits().coordinator
    }

    /// Timeout for a worker to open, connect or close `steps` arms or instruments.
    fn setup_timeout(&self, steps: usize) -> Duration {
        self.step_timeout().max(SETUP_TIMEOUT + GRACE) * u32::try_from(steps.max(1)).unwrap_or(u32::MAX)
    }
}
