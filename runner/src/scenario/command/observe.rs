//! The unmeasured run in round 0, in which the tool's libraries log their data path. It replaces the integrity pass,
//! because the runner cannot verify a command's data.

use command_output::log;
use crds::assignment::CommandWorkload;
use crds::record::{CaseFailure, CommandLog, FabricFacts, IntegrityReport};

use super::{client, server};
use crate::immediate::Signal;
use crate::scenario::case::{Case, Role};
use crate::scenario::check::finish;
use crate::scenario::engine::Engine;
use crate::transport::Transport;

/// Executes the command with logging. Returns the report on this side's log, and evidence lines.
pub(in crate::scenario) fn observe<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
) -> Result<(IntegrityReport, Vec<String>), CaseFailure> {
    engine.synchronize()?;
    let variables = log::variables(workload.tool);
    let text = match case.role {
        Role::Initiator => {
            engine.serve_until("waiting for the command's server", |engine| engine.inbox.started)?;
            let text = client::execute(engine, case, workload, facts, variables)?;
            finish(engine, case.role)?;
            text
        }
        Role::Target => {
            let process = server::start(engine, case, workload, facts, variables)?;
            engine.signal(Signal::Started)?;
            let text = match process {
                Some(process) => server::finish(engine, process)?,
                None => String::new(),
            };
            finish(engine, case.role)?;
            text
        }
    };
    let found = log::read(&text);
    let lines = found.lanes.iter().chain(&found.fallbacks);
    let evidence = lines.map(|line| format!("command: {line}")).collect();
    let report = IntegrityReport {
        command: Some(CommandLog {
            lanes: found.lanes,
            fallbacks: found.fallbacks,
        }),
        ..IntegrityReport::default()
    };
    Ok((report, evidence))
}
