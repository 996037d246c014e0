//! Steps of running a command that are the same for server and client.

use std::time::{Duration, Instant};

use command_output::template::{Values, expand};
use command_output::{LinePattern, end_of};
use crds::assignment::CommandWorkload;
use crds::record::{CaseFailure, CommandProgram, FabricFacts, FailureReason};

use crate::command::listening::is_listening;
use crate::command::{CommandLine, Exit, Output, Process};
use crate::scenario::case::{Case, Role};
use crate::scenario::engine::{Engine, failure};
use crate::topology::SystemRoots;
use crate::transport::Transport;

/// Time to wait for a command to exit before the connection to the peer is polled again.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Starts the part of the command that this side executes.
pub(super) fn start(
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
    variables: &[(&str, &str)],
) -> Result<Process, CaseFailure> {
    Process::start(
        Process::runner_path()?,
        command_line(case, workload, facts, variables)?,
    )
}

/// Polls the connection to the peer once, and checks the case's deadline.
pub(super) fn poll<T: Transport>(
    engine: &mut Engine<'_, T>,
    activity: &'static str,
) -> Result<(), CaseFailure> {
    engine.poll()?;
    if engine.waiter.deadline_has_passed() {
        return Err(engine.deadline_exceeded(activity));
    }
    Ok(())
}

/// Waits until the command exits. Returns an error if it does not exit within the time limit.
pub(super) fn wait_for_exit<T: Transport>(
    engine: &mut Engine<'_, T>,
    process: &mut Process,
    part: CommandProgram,
    limit: Duration,
) -> Result<Exit, CaseFailure> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(exit) = process.wait((Instant::now() + POLL_INTERVAL).min(deadline))? {
            return Ok(exit);
        }
        if Instant::now() >= deadline {
            return Err(time_limit_failure(process, part, limit));
        }
        poll(engine, "waiting for the command")?;
    }
}

/// Waits briefly for the command to exit.
pub(super) fn wait_briefly(process: &mut Process) -> Result<Option<Exit>, CaseFailure> {
    process.wait(Instant::now() + POLL_INTERVAL)
}

/// Waits until the server is listening on its port, or prints the line that indicates that it is ready.
pub(super) fn wait_until_ready<T: Transport>(
    engine: &mut Engine<'_, T>,
    process: &mut Process,
    case: &Case<'_>,
    workload: &CommandWorkload,
) -> Result<(), CaseFailure> {
    let limit = time_limit(workload);
    let deadline = Instant::now() + limit;
    let pattern = workload.ready.as_deref().map(LinePattern::new).transpose();
    let pattern = pattern.map_err(|error| failure(FailureReason::InvalidAssignment, error.to_string()))?;
    let is_ready = |process: &Process| match &pattern {
        Some(pattern) => process.output().text.lines().any(|line| pattern.is_match(line)),
        None => is_listening(&SystemRoots::default(), workload.port_of(case.seed)),
    };
    loop {
        if is_ready(process) {
            return Ok(());
        }
        if let Some(exit) = wait_briefly(process)? {
            let message = format!(
                "the {} `{}` {} before it was ready; {}",
                CommandProgram::Server.name(),
                process.program(),
                exit.description,
                output_end(&process.output())
            );
            return Err(failure(FailureReason::CommandFailed, message));
        }
        if Instant::now() >= deadline {
            let awaited = match &workload.ready {
                Some(expression) => format!("did not print a line that matches `{expression}`"),
                None => format!("did not listen on port {}", workload.port_of(case.seed)),
            };
            let message = format!(
                "the {} `{}` {awaited} within {} s; {}",
                CommandProgram::Server.name(),
                process.program(),
                limit.as_secs(),
                output_end(&process.output())
            );
            return Err(failure(FailureReason::DeadlineExceeded, message));
        }
        poll(engine, "waiting for the command's server")?;
    }
}

/// Checks that no other process is listening on the server's port.
pub(super) fn check_port(case: &Case<'_>, workload: &CommandWorkload) -> Result<(), CaseFailure> {
    let port = workload.port_of(case.seed);
    if workload.ready.is_none() && is_listening(&SystemRoots::default(), port) {
        let message = format!(
            "another process is listening on port {port}. Choose a different port in the scenario, whose runs use \
             ports {} to {}",
            workload.port,
            workload.port + crds::assignment::COMMAND_PORTS - 1
        );
        return Err(failure(FailureReason::CommandFailed, message));
    }
    Ok(())
}

/// Checks how a command exited, and its output.
pub(super) fn check_exit(
    program: &str,
    part: CommandProgram,
    exit: &Exit,
    output: &Output,
) -> Result<(), CaseFailure> {
    let problem = if !exit.success {
        exit.description.clone()
    } else if !exit.left.is_empty() {
        format!(
            "exited, but left processes behind, which were killed: {}",
            exit.left.join(", ")
        )
    } else if output.is_truncated {
        format!("printed more than {} bytes", command_output::MAX_OUTPUT_BYTES)
    } else {
        return Ok(());
    };
    let message = format!(
        "the {} `{program}` {problem}; {}",
        part.name(),
        output_end(output)
    );
    Err(failure(FailureReason::CommandFailed, message))
}

fn time_limit_failure(process: &Process, part: CommandProgram, limit: Duration) -> CaseFailure {
    let message = format!(
        "the {} `{}` exceeded its time limit of {} s and was killed; {}",
        part.name(),
        process.program(),
        limit.as_secs(),
        output_end(&process.output())
    );
    failure(FailureReason::DeadlineExceeded, message)
}

fn output_end(output: &Output) -> String {
    match end_of(&output.text) {
        end if end.is_empty() => "it printed nothing".to_owned(),
        end => format!("its output ends with: {end}"),
    }
}

/// Time limit for one run of a command.
pub(super) fn time_limit(workload: &CommandWorkload) -> Duration {
    Duration::from_secs(workload.timeout_seconds.into())
}

/// Creates the command line for this side of `case`, with the additional `variables`.
///
/// # Errors
/// Returns `OperationRejected` if a placeholder has no value.
fn command_line(
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
    variables: &[(&str, &str)],
) -> Result<CommandLine, CaseFailure> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Ok(CommandLine {
        arguments: arguments(case, workload, facts)?,
        env: variables.iter().map(owned).collect(),
        cpus: case.site.cpus.clone(),
    })
}

/// Program and arguments for this side of `case`; empty if this side executes nothing.
///
/// # Errors
/// Returns `OperationRejected` if a placeholder has no value.
pub(super) fn arguments(
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
) -> Result<Vec<String>, CaseFailure> {
    let site = &case.site;
    let (arguments, server) = match case.role {
        Role::Initiator => (&workload.client, &site.peer_address),
        Role::Target => (&workload.server, &site.own_address),
    };
    let values = Values {
        server: server.clone(),
        port: workload.port_of(case.seed),
        size: case.size_bytes,
        device: facts.rails.first().and_then(|rail| rail.interface.clone()),
    };
    let expanded = expand(arguments, &case.arm.arguments, &values);
    expanded.map_err(|error| failure(FailureReason::OperationRejected, error.to_string()))
}
