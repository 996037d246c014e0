//! The unmeasured run in round 0, in which the tool's libraries log their data path. It replaces the integrity pass,
//! because the runner cannot verify a command's data.

use command_output::log;
use crds::assignment::CommandWorkload;
use crds::record::{CaseFailure, CommandProgram, FabricFacts, IntegrityReport, LogLineKind};

use super::{client, execution, server};
use crate::command::Output;
use crate::configuration::trace::Trace;
use crate::immediate::Signal;
use crate::scenario::case::{Case, Role};
use crate::scenario::check::finish;
use crate::scenario::engine::Engine;
use crate::scenario::program::Checked;
use crate::transport::Transport;

/// Executes the command with logging. Returns the report on this side's log, and the lines that name the
/// data path.
pub(super) fn observe<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
) -> Result<Checked, CaseFailure> {
    engine.synchronize()?;
    let arguments = execution::arguments(case, workload, facts)?;
    let trace = Trace::new(&case.arm.name, &case.scenario.name, &arguments);
    let traced = trace.variables();
    let logged = log::variables(workload.tool).iter().copied();
    let variables: Vec<(&str, &str)> = logged
        .chain(traced.iter().map(|(name, value)| (name.as_str(), value.as_str())))
        .collect();
    let variables = variables.as_slice();
    let (program, output) = match case.role {
        Role::Initiator => {
            engine.serve_until("waiting for the command's server", |engine| engine.inbox.started)?;
            let output = client::execute(engine, case, workload, facts, variables)?;
            finish(engine, case.role)?;
            (CommandProgram::Client, output)
        }
        Role::Target => {
            let process = server::start(engine, case, workload, facts, variables)?;
            engine.signal(Signal::Started)?;
            let output = match process {
                Some(process) => server::finish(engine, process)?,
                None => Output::default(),
            };
            finish(engine, case.role)?;
            (CommandProgram::Server, output)
        }
    };
    if !arguments.is_empty() {
        trace.finish();
    }
    let found = log::read_streams(program, output.stdout(), output.stderr());
    let paths = found.lines.iter().filter(|line| line.kind == LogLineKind::Path);
    let evidence = paths.map(|line| format!("command: {}", line.text)).collect();
    let report = IntegrityReport {
        command: Some(found),
        ..IntegrityReport::default()
    };
    Ok((report, evidence))
}
