//! Where this worker's commands run: addresses, CPUs and libraries. Performs no I/O.

use command_output::template::{Values, expand};
use crds::assignment::CommandWorkload;
use crds::record::{CaseFailure, FabricFacts, FailureReason};

use crate::command::CommandLine;
use crate::scenario::case::{Case, Role};
use crate::scenario::engine::failure;

/// Where the commands of one arm run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSite {
    /// Address of this worker.
    pub own_address: String,
    /// Address of the other worker.
    pub peer_address: String,
    /// CPUs that a command may use. If empty, it may use the CPUs of this process.
    pub cpus: Vec<u32>,
}

/// Creates the command line for this side of `case`, with the additional `variables`.
///
/// # Errors
/// Returns `OperationRejected` if a placeholder has no value.
pub(super) fn command_line(
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
    variables: &[(&str, &str)],
) -> Result<CommandLine, CaseFailure> {
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
    let arguments = expanded.map_err(|error| failure(FailureReason::OperationRejected, error.to_string()))?;
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Ok(CommandLine {
        arguments,
        env: variables.iter().map(owned).collect(),
        cpus: site.cpus.clone(),
    })
}
