//! One plan from its first missing block to its last: leg by leg, a gang each. I/O.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use std::{fs, io};

use crds::assignment::{Assignment, LegIdentity, Rendezvous};
use rustix::thread::{CpuSet, sched_getaffinity};
use snafu::{ResultExt, Snafu};

use super::bindings::bindings;
use super::gang::{Event, Gang, events};
use super::interrupt::Interrupt;
use super::output::{OutputError, RecordFile};
use super::progress::Progress;
use crate::campaign::collect::Collector;
use crate::campaign::plan::{AssignmentInputs, Leg, Plan, assignment, hash};

/// How long the workers of one machine may take to meet.
const RENDEZVOUS_SECONDS: u32 = 30;
/// How long the last worker may go on when the others have left: it tells what became of them, and no more.
const LAST_WORKER: Duration = Duration::from_secs(60);

/// Why a plan could not be carried out at all. What workers report of themselves is in the records instead.
#[derive(Debug, Snafu)]
pub enum ExecuteError {
    /// The run's folder cannot be used.
    #[snafu(display("{source}"))]
    Output {
        /// Why not.
        source: OutputError,
    },
    /// The system refused something every run needs.
    #[snafu(display("{what}: {source}"))]
    System {
        /// What was refused.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// What is carried out, by whom, and where the records go.
pub(super) struct Execution<'a> {
    /// The plan.
    pub(super) plan: &'a Plan,
    /// UID of the run: part of every message and record.
    pub(super) uid: &'a str,
    /// The instrument's program.
    pub(super) runner: &'a Path,
    /// Whether this program was told to stop.
    pub(super) interrupt: &'a Interrupt,
    /// Longest time for all that is still missing.
    pub(super) deadline: Duration,
}

/// Why a run stopped before its last block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// `runPolicy.activeDeadlineSeconds` passed.
    Deadline,
    /// A worker could not go on; its words.
    Workers(String),
}

/// Carries out what is missing of the plan. The lines are in `records` afterwards, however it ended; `Some` says
/// why it ended early.
///
/// # Errors
/// When the folder or the system stands in the way.
pub(super) fn execute(
    execution: &Execution<'_>,
    collector: &mut Collector,
    records: &mut RecordFile,
) -> Result<Option<Stopped>, ExecuteError> {
    let scratch = tempfile::Builder::new()
        .prefix("fabricbench-")
        .tempdir()
        .context(SystemSnafu {
            what: "making a scratch folder",
        })?;
    let until = Instant::now() + execution.deadline;
    let plan = execution.plan;
    records.end_unfinished_line().context(OutputSnafu)?;
    let done = collector.reports().blocks_done();
    let mut progress = Progress::start(&plan.run, done.into(), plan.blocks_total.into());
    let mut stopped = None;
    for leg in &plan.legs {
        let assignment = leg_assignment(execution, leg, collector)?;
        if assignment.rounds.is_empty() {
            continue;
        }
        let path = scratch.path().join("assignment.json");
        write_assignment(&path, &assignment)?;
        let mut attempt = Attempt {
            collector,
            records: &mut *records,
            progress: &mut progress,
        };
        stopped = attempt.carry_out(execution, &path, until)?;
        collector.end_of_input();
        if stopped.is_some() {
            break;
        }
    }
    progress.finish();
    records.sync().context(OutputSnafu)?;
    // Workers that fail take their pairs out, not the run: what counts is whether every block was measured.
    Ok(stopped.filter(|_| collector.reports().blocks_done() < plan.blocks_total))
}

fn leg_assignment(
    execution: &Execution<'_>,
    leg: &Leg,
    collector: &Collector,
) -> Result<Assignment, ExecuteError> {
    let plan = execution.plan;
    let reports = collector.reports();
    let earlier = reports
        .streams
        .iter()
        .filter(|stream| stream.leg == leg.leg)
        .map(|stream| stream.attempt);
    let identity = LegIdentity {
        run: plan.run.clone(),
        uid: execution.uid.to_owned(),
        plan_hash: hash(plan),
        leg: leg.leg,
        attempt: earlier.max().unwrap_or(0) + 1,
    };
    let port = free_port().context(SystemSnafu {
        what: "looking for a free port on 127.0.0.1",
    })?;
    let rendezvous = Rendezvous {
        host: Ipv4Addr::LOCALHOST.to_string(),
        bind: Ipv4Addr::LOCALHOST.to_string(),
        port,
        timeout_seconds: RENDEZVOUS_SECONDS,
    };
    let cpus = allowed_cpus().context(SystemSnafu {
        what: "reading the processors this process may use",
    })?;
    let bindings = bindings(&plan.transport, plan.workers, &cpus);
    let none = BTreeSet::new();
    let done = reports.done.get(&leg.leg).unwrap_or(&none);
    Ok(assignment(
        plan,
        leg,
        AssignmentInputs {
            identity,
            rendezvous,
            bindings,
            finished_blocks: done,
        },
    ))
}

fn write_assignment(path: &Path, assignment: &Assignment) -> Result<(), ExecuteError> {
    let text = serde_json::to_vec(assignment).map_err(io::Error::other);
    text.and_then(|text| fs::write(path, text)).context(SystemSnafu {
        what: "writing the assignment",
    })
}

/// A port nobody listens on. Another program could take it before worker 0 does; worker 0 then says so.
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
    fn carry_out(
        &mut self,
        execution: &Execution<'_>,
        assignment: &Path,
        until: Instant,
    ) -> Result<Option<Stopped>, ExecuteError> {
        let (sender, receiver) = events();
        let interrupt = execution.interrupt;
        interrupt.tell(Some(sender.clone()));
        // Whatever came before the gang could be told of it.
        if interrupt.told() {
            interrupt.tell(None);
            return Ok(Some(Stopped::Interrupted));
        }
        let started = Gang::start(
            execution.runner,
            assignment,
            execution.plan.workers,
            sender,
            receiver,
        );
        let outcome = started
            .context(SystemSnafu {
                what: "starting the workers",
            })
            .and_then(|mut gang| self.follow(&mut gang, until));
        interrupt.tell(None);
        outcome
    }

    /// Keeps every line until all workers are gone.
    fn follow(&mut self, gang: &mut Gang, until: Instant) -> Result<Option<Stopped>, ExecuteError> {
        let mut stopped = None;
        let mut lonely_until = None;
        while gang.running() {
            let deadline = match gang.lonely() {
                true => until.min(*lonely_until.get_or_insert_with(|| Instant::now() + LAST_WORKER)),
                false => until,
            };
            match gang.next(deadline) {
                Some(Event::Line(line)) => self.keep(&line)?,
                Some(Event::StreamEnded) => {}
                Some(Event::Left { rank, status }) => {
                    let failed = !status.as_ref().is_ok_and(|status| status.success());
                    if failed && stopped.is_none() {
                        stopped = Some(Stopped::Workers(words(gang, rank, status)));
                    }
                }
                Some(Event::Interrupted) => {
                    self.progress.note("stopping: what is measured so far is kept");
                    stopped = Some(Stopped::Interrupted);
                    self.keep_last_words(gang)?;
                    break;
                }
                None => {
                    let why = match Instant::now() < until {
                        true => Stopped::Workers(format!(
                            "a worker did not end within {LAST_WORKER:?} of the others"
                        )),
                        false => Stopped::Deadline,
                    };
                    stopped = stopped.or(Some(why));
                    self.keep_last_words(gang)?;
                    break;
                }
            }
        }
        Ok(stopped)
    }

    fn keep_last_words(&mut self, gang: &mut Gang) -> Result<(), ExecuteError> {
        for event in gang.stop() {
            if let Event::Line(line) = event {
                self.keep(&line)?;
            }
        }
        Ok(())
    }

    /// A line is on its way to the disk before anything is concluded from it.
    fn keep(&mut self, line: &str) -> Result<(), ExecuteError> {
        self.records.append(line).context(OutputSnafu)?;
        self.collector.feed(line.as_bytes());
        self.collector.feed(b"\n");
        let reports = self.collector.reports();
        let current = reports.cases.last().map(|case| format!("round {}", case.round));
        self.progress.at(
            reports.blocks_done().into(),
            current.as_deref().unwrap_or("starting"),
        );
        Ok(())
    }
}

fn words(gang: &Gang, rank: u32, status: io::Result<ExitStatus>) -> String {
    let how = match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let said = gang.stderr(rank);
    if said.is_empty() {
        format!("worker {rank} left with {how}")
    } else {
        format!("worker {rank} left with {how}:\n{said}")
    }
}
