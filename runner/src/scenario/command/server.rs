//! The target's side of a measured case: executes the server, if the command has one, until the client has exited.

use std::time::{Duration, Instant};

use crds::assignment::CommandWorkload;
use crds::record::{CaseFailure, CommandProgram, FabricFacts};

use super::execution;
use crate::command::{Exit, Output, Process};
use crate::scenario::case::Case;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::Engine;
use crate::scenario::isolated::wait_asleep;
use crate::scenario::thread_report::ThreadMeasurement;
use crate::transport::Transport;

/// Maximum time for a server to exit after the client has exited. It is then terminated.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Side that executes the server.
pub(in crate::scenario) struct Server<'a> {
    workload: &'a CommandWorkload,
    case: &'a Case<'a>,
    facts: &'a FabricFacts,
    process: Option<Process>,
}

impl<'a> Server<'a> {
    pub(in crate::scenario) fn new(
        workload: &'a CommandWorkload,
        case: &'a Case<'a>,
        facts: &'a FabricFacts,
    ) -> Self {
        Self {
            workload,
            case,
            facts,
            process: None,
        }
    }
}

impl<T: Transport> Work<T> for Server<'_> {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        self.process = start(engine, self.case, self.workload, self.facts, &[])?;
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        if let Some(process) = self.process.take() {
            finish(engine, process)?;
        }
        Ok(None)
    }

    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        activity: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        wait_asleep(engine, activity, until)
    }
}

/// Starts the server and waits until it is ready; `None` if there is no server.
pub(super) fn start<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
    variables: &[(&str, &str)],
) -> Result<Option<Process>, CaseFailure> {
    if workload.server.is_empty() {
        return Ok(None);
    }
    execution::check_port(case, workload)?;
    let mut process = execution::start(case, workload, facts, variables)?;
    execution::wait_until_ready(engine, &mut process, case, workload)?;
    Ok(Some(process))
}

/// Waits until the client has exited, and stops the server. Returns the server's output.
pub(super) fn finish<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut process: Process,
) -> Result<Output, CaseFailure> {
    let mut exit: Option<Exit> = None;
    while !engine.inbox.stop {
        execution::poll(engine, "waiting for the command's client")?;
        if exit.is_none() {
            exit = execution::wait_briefly(&mut process)?;
            if let Some(failed) = exit.as_ref().filter(|exit| !exit.success) {
                let program = process.program().to_owned();
                execution::check_exit(&program, CommandProgram::Server, failed, &process.output())?;
            }
        } else if !engine.inbox.stop {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    if exit.is_none() {
        exit = process.wait(Instant::now() + EXIT_TIMEOUT)?;
    }
    let program = process.program().to_owned();
    let output = process.stop()?;
    // If a server runs until it is terminated, its exit status is meaningless.
    if let Some(exit) = exit {
        execution::check_exit(&program, CommandProgram::Server, &exit, &output)?;
    }
    Ok(output)
}
