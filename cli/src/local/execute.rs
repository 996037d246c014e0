//! Measures the missing blocks of a plan with one gang of workers for each leg. Performs I/O.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use campaign::advance;
use campaign::collect::{Collector, Reports};
use campaign::pilot::operation_counts;
use campaign::plan::{AssignmentInputs, HashedPlan, Leg, assignment};
use campaign::stopping::Stopping;
use crds::assignment::Assignment;
use crds::lifeline::MAX_SILENCE;
use crds::record::FailureReason;
use snafu::ResultExt;

use super::error::{EvaluateSnafu, ExecuteError, OutputSnafu};
use super::event::Event;
use super::executor::Executor;
use super::gang::{Gang, event_channel};
use super::interrupt::Interrupt;
use super::output::RecordFile;
use super::progress::Progress;

/// Maximum time for the last worker to exit after all others have exited. Its only remaining task is to report that the
/// others failed.
const LAST_WORKER_TIMEOUT: Duration = Duration::from_secs(60);
/// Exit status of a worker that does not accept its assignment.
const REJECTED: i32 = 2;

/// Inputs for executing a plan.
pub(super) struct Execution<'a> {
    /// Plan of the run.
    pub(super) plan: &'a HashedPlan,
    /// UID of the run, which identifies it in rendezvous messages and in the record stream.
    pub(super) uid: &'a str,
    /// Starts the workers.
    pub(super) executor: &'a dyn Executor,
    /// Directory in which the workers keep the output of their instruments; `None` if they do not keep it.
    pub(super) logs: Option<&'a Path>,
    /// Signals that stop the run.
    pub(super) interrupt: &'a Interrupt,
    /// Total time limit for the missing blocks.
    pub(super) deadline: Duration,
}

/// Reason for stopping a run before its last block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// `runPolicy.activeDeadlineSeconds` has elapsed.
    Deadline,
    /// A worker failed. Contains the error message.
    WorkerFailed(String),
    /// The workers reported before the first block why they cannot measure. Contains the reason and the message.
    MeasurementFailed(String),
    /// A worker did not accept its assignment. Contains the error message.
    Rejected(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Interrupted => "interrupted",
            Self::Deadline => "spec.runPolicy.activeDeadlineSeconds has passed",
            Self::WorkerFailed(message) | Self::MeasurementFailed(message) | Self::Rejected(message) => {
                message
            }
        })
    }
}

/// Measures the missing blocks of the plan and appends every record to `records`. Returns the reason if the run stopped
/// early.
///
/// # Errors
/// Returns an error if the run directory cannot be used, the records cannot be evaluated or a system operation fails.
pub(super) fn execute(
    execution: &Execution<'_>,
    collector: &mut Collector,
    records: &mut RecordFile,
) -> Result<Option<StopReason>, ExecuteError> {
    let deadline = Instant::now() + execution.deadline;
    let plan = execution.plan;
    records.terminate_incomplete_line().context(OutputSnafu)?;
    let mut stopping = Stopping::default();
    advance(&mut stopping, plan, collector.reports()).context(EvaluateSnafu)?;
    let found = stopping.progress(plan, collector.reports());
    let mut progress = Progress::start(&plan.run, found.done.into(), found.total.into());
    let mut stopped = None;
    for leg in &plan.legs {
        advance(&mut stopping, plan, collector.reports()).context(EvaluateSnafu)?;
        progress.set_total(stopping.progress(plan, collector.reports()).total.into());
        let assignment = leg_assignment(execution, leg, &stopping, collector)?;
        if assignment.rounds.is_empty() {
            continue;
        }
        let mut attempt = Attempt {
            collector,
            records: &mut *records,
            progress: &mut progress,
        };
        stopped = attempt.run(execution, &assignment, deadline)?;
        collector.end_of_input();
        stopped = failed_start(collector.reports())
            .filter(|_| may_replace(stopped.as_ref()))
            .or(stopped);
        if stopped.is_some() {
            break;
        }
    }
    progress.finish();
    records.sync().context(OutputSnafu)?;
    advance(&mut stopping, plan, collector.reports()).context(EvaluateSnafu)?;
    let reached = stopping.progress(plan, collector.reports());
    // If every block was measured, a failed worker invalidates pairs but not the run.
    Ok(stopped.filter(|_| reached.done < reached.total))
}

/// Why the latest attempt measured nothing, if its workers reported a cause of their own: not the loss of another worker,
/// whose exit status says more.
fn failed_start(reports: &Reports) -> Option<StopReason> {
    let end = reports.streams.last()?.end.as_ref()?;
    let failure = end.failure.as_ref().filter(|_| end.blocks == 0)?;
    match failure.reason {
        FailureReason::PeerLost | FailureReason::WorkerMissing | FailureReason::Interrupted => None,
        reason => Some(StopReason::MeasurementFailed(format!(
            "{reason:?}: {}",
            failure.message
        ))),
    }
}

/// Whether the failure that the workers reported explains more than `stopped`: a worker exits because of it.
fn may_replace(stopped: Option<&StopReason>) -> bool {
    matches!(stopped, None | Some(StopReason::WorkerFailed(_)))
}

fn leg_assignment(
    execution: &Execution<'_>,
    leg: &Leg,
    stopping: &Stopping,
    collector: &Collector,
) -> Result<Assignment, ExecuteError> {
    let plan = execution.plan;
    let reports = collector.reports();
    let earlier_attempts = reports
        .streams
        .iter()
        .filter(|stream| stream.leg == leg.leg)
        .map(|stream| stream.attempt);
    let attempt = earlier_attempts.max().unwrap_or(0) + 1;
    let identity = plan.identity(execution.uid, leg.leg, attempt);
    Ok(assignment(
        plan,
        &stopping.reduce(plan, leg),
        AssignmentInputs {
            identity,
            rendezvous: execution.executor.rendezvous(reports.streams.len() as u32)?,
            bindings: execution.executor.bindings(plan)?,
            finished_blocks: &stopping.finished_blocks(plan, leg, reports),
            operation_counts: operation_counts(plan, reports),
        },
    ))
}

/// One attempt at one leg.
struct Attempt<'a> {
    collector: &'a mut Collector,
    records: &'a mut RecordFile,
    progress: &'a mut Progress,
}

impl Attempt<'_> {
    fn run(
        &mut self,
        execution: &Execution<'_>,
        assignment: &Assignment,
        deadline: Instant,
    ) -> Result<Option<StopReason>, ExecuteError> {
        let (sender, receiver) = event_channel();
        let interrupt = execution.interrupt;
        interrupt.forward_to(Some(sender.clone()));
        // Signals that arrived before the channel was registered are not sent to it.
        if interrupt.is_signaled() {
            interrupt.forward_to(None);
            return Ok(Some(StopReason::Interrupted));
        }
        let started = execution.executor.start(assignment, execution.logs, interrupt);
        let outcome = match Gang::follow(started, &sender, receiver) {
            Ok(mut gang) => self.follow(execution, &mut gang, deadline),
            Err(_) if interrupt.is_signaled() => Ok(Some(StopReason::Interrupted)),
            Err(errors) => Ok(Some(StopReason::WorkerFailed(errors))),
        };
        interrupt.forward_to(None);
        outcome
    }

    /// Records every line until all workers have exited.
    fn follow(
        &mut self,
        execution: &Execution<'_>,
        gang: &mut Gang,
        deadline: Instant,
    ) -> Result<Option<StopReason>, ExecuteError> {
        let mut stopped = None;
        let mut last_worker_deadline = None;
        while gang.is_running() {
            let next_deadline = match gang.has_single_worker_left() {
                true => {
                    let last =
                        last_worker_deadline.get_or_insert_with(|| Instant::now() + LAST_WORKER_TIMEOUT);
                    deadline.min(*last)
                }
                false => deadline,
            };
            match gang.next(next_deadline) {
                Some(Event::Line(line)) => self.record(&line)?,
                Some(Event::StreamEnded) => {}
                Some(Event::Exited { rank, status }) => {
                    let failed = !status.as_ref().is_ok_and(|status| status.success());
                    // A worker that a signal terminates is the cause of the failures of the others, even if they are
                    // reported first.
                    let is_killed = status.as_ref().is_ok_and(|status| status.signal().is_some());
                    if is_killed || failed && stopped.is_none() {
                        let is_rejected = status
                            .as_ref()
                            .is_ok_and(|status| status.code() == Some(REJECTED));
                        let message = exit_message(execution, gang, rank, status);
                        stopped = Some(match is_rejected {
                            true => StopReason::Rejected(message),
                            false => StopReason::WorkerFailed(message),
                        });
                    }
                }
                Some(Event::Silent { rank }) => {
                    stopped = Some(StopReason::WorkerFailed(format!(
                        "nothing was heard from {} for {} s: its machine, or the connection to it, was lost",
                        execution.executor.name(rank),
                        MAX_SILENCE.as_secs()
                    )));
                    self.stop(gang)?;
                    break;
                }
                Some(Event::Interrupted) => {
                    self.progress.note("stopping; measurements so far are kept");
                    stopped = Some(StopReason::Interrupted);
                    self.stop(gang)?;
                    break;
                }
                None => {
                    let reason = match Instant::now() < deadline {
                        true => StopReason::WorkerFailed(format!(
                            "the last worker did not exit within {LAST_WORKER_TIMEOUT:?} of the others"
                        )),
                        false => StopReason::Deadline,
                    };
                    stopped = stopped.or(Some(reason));
                    self.stop(gang)?;
                    break;
                }
            }
        }
        Ok(stopped)
    }

    /// Stops the gang and records its remaining lines.
    fn stop(&mut self, gang: &mut Gang) -> Result<(), ExecuteError> {
        for event in gang.stop() {
            if let Event::Line(line) = event {
                self.record(&line)?;
            }
        }
        Ok(())
    }

    /// Appends a line to the record file, then passes the line to the collector.
    fn record(&mut self, line: &str) -> Result<(), ExecuteError> {
        self.records.append(line).context(OutputSnafu)?;
        self.collector.feed(line.as_bytes());
        self.collector.feed(b"\n");
        let reports = self.collector.reports();
        let current = reports.cases.last().map(|case| format!("round {}", case.round));
        self.progress.update(
            reports.blocks_done().into(),
            current.as_deref().unwrap_or("starting"),
        );
        Ok(())
    }
}

/// Describes a worker's exit status, followed by the last lines of its standard error.
fn exit_message(execution: &Execution<'_>, gang: &Gang, rank: u32, status: io::Result<ExitStatus>) -> String {
    let status = match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let name = execution.executor.name(rank);
    let stderr = gang.last_stderr_lines(rank);
    if stderr.is_empty() {
        format!("{name} terminated with {status}")
    } else {
        format!("{name} terminated with {status}:\n{stderr}")
    }
}
