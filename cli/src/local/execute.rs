//! Measures the missing blocks of a plan with one gang of workers for each leg. Performs I/O.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use std::{fs, io};

use campaign::advance;
use campaign::collect::{Collector, Reports};
use campaign::pilot::operation_counts;
use campaign::plan::{AssignmentInputs, HashedPlan, Leg, assignment};
use campaign::stats::StatsError;
use campaign::stopping::Stopping;
use crds::assignment::{Assignment, Rendezvous};
use crds::file_error::with_remedy;
use crds::record::FailureReason;
use rustix::thread::{CpuSet, sched_getaffinity};
use snafu::{ResultExt, Snafu};

use super::bindings::bindings;
use super::gang::{Event, Gang, WorkerProgram, event_channel};
use super::interrupt::Interrupt;
use super::output::{OutputError, RecordFile};
use super::progress::Progress;
use super::rail_sources::{RDMA_DEVICES, rail_sources};

/// Timeout for the workers' rendezvous.
const RENDEZVOUS_SECONDS: u32 = 30;
/// Maximum time for the last worker to exit after all others have exited. Its only remaining task is to report that the
/// others failed.
const LAST_WORKER_TIMEOUT: Duration = Duration::from_secs(60);

/// Error executing a plan. Failures that workers report are in the records instead.
#[derive(Debug, Snafu)]
pub enum ExecuteError {
    /// The run directory could not be used.
    #[snafu(display("{source}"))]
    Output {
        /// Underlying error.
        source: OutputError,
    },
    /// The records measured so far could not be evaluated.
    #[snafu(display("{source}"))]
    Evaluate {
        /// Underlying error.
        source: StatsError,
    },
    /// A system operation that every run needs failed.
    #[snafu(display("cannot {operation}: {}", with_remedy(source)))]
    System {
        /// The operation, as a verb phrase.
        operation: &'static str,
        /// Operating system error.
        source: io::Error,
    },
}

/// Inputs for executing a plan.
pub(super) struct Execution<'a> {
    /// Plan of the run.
    pub(super) plan: &'a HashedPlan,
    /// UID of the run, which identifies it in rendezvous messages and in the record stream.
    pub(super) uid: &'a str,
    /// Program that workers run.
    pub(super) program: WorkerProgram<'a>,
    /// Signals that stop the run.
    pub(super) interrupt: &'a Interrupt,
    /// Total time limit for the missing blocks.
    pub(super) deadline: Duration,
}

/// Reason for stopping a run before its last block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// `runPolicy.activeDeadlineSeconds` has elapsed.
    Deadline,
    /// A worker failed. Contains the error message.
    WorkerFailed(String),
    /// The workers reported before the first block why they cannot measure. Contains the reason and the message.
    MeasurementFailed(String),
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
    let temporary = tempfile::Builder::new()
        .prefix("fabricbench-")
        .tempdir()
        .context(SystemSnafu {
            operation: "create a temporary directory",
        })?;
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
        let path = temporary.path().join("assignment.json");
        write_assignment(&path, &assignment)?;
        let mut attempt = Attempt {
            collector,
            records: &mut *records,
            progress: &mut progress,
        };
        stopped = attempt.run(execution, &path, deadline)?;
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
    let port = free_port().context(SystemSnafu {
        operation: "find a free port on 127.0.0.1",
    })?;
    let rendezvous = Rendezvous {
        host: Ipv4Addr::LOCALHOST.to_string(),
        bind: Ipv4Addr::LOCALHOST.to_string(),
        port,
        timeout_seconds: RENDEZVOUS_SECONDS,
    };
    let cpus = allowed_cpus().context(SystemSnafu {
        operation: "read the CPU affinity of this process",
    })?;
    // If the spec sets a NUMA node, the workers divide the CPUs of that node among themselves.
    let cpus = match plan.devices.numa_node {
        Some(_) => Vec::new(),
        None => cpus,
    };
    // Arms over shared memory ignore the sources. NICs that the spec names take precedence.
    let sources = match plan.devices.nics.is_empty() {
        true => {
            let transports: Vec<_> = plan.transports().collect();
            rail_sources(&transports, plan.workers, Path::new(RDMA_DEVICES))
        }
        false => Vec::new(),
    };
    let bindings = bindings(&sources, plan.workers, &cpus);
    Ok(assignment(
        plan,
        &stopping.reduce(plan, leg),
        AssignmentInputs {
            identity,
            rendezvous,
            bindings,
            finished_blocks: &stopping.finished_blocks(plan, leg, reports),
            operation_counts: operation_counts(plan, reports),
        },
    ))
}

fn write_assignment(path: &Path, assignment: &Assignment) -> Result<(), ExecuteError> {
    let text = serde_json::to_vec(assignment).map_err(io::Error::other);
    text.and_then(|text| fs::write(path, text)).context(SystemSnafu {
        operation: "write the assignment",
    })
}

/// Finds a free port. If another process binds the port before worker 0 does, worker 0 fails with an error.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .map(|cpu| cpu as u32)
        .collect())
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
        assignment: &Path,
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
        let started = Gang::start(
            execution.program,
            assignment,
            execution.plan.workers,
            sender,
            receiver,
        );
        let outcome = started
            .context(SystemSnafu {
                operation: "start the workers",
            })
            .and_then(|mut gang| self.follow(&mut gang, deadline));
        interrupt.forward_to(None);
        outcome
    }

    /// Records every line until all workers have exited.
    fn follow(&mut self, gang: &mut Gang, deadline: Instant) -> Result<Option<StopReason>, ExecuteError> {
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
                        stopped = Some(StopReason::WorkerFailed(exit_message(gang, rank, status)));
                    }
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
fn exit_message(gang: &Gang, rank: u32, status: io::Result<ExitStatus>) -> String {
    let status = match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let stderr = gang.last_stderr_lines(rank);
    if stderr.is_empty() {
        format!("worker {rank} terminated with {status}")
    } else {
        format!("worker {rank} terminated with {status}:\n{stderr}")
    }
}
