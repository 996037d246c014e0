//! Runs of a benchmark command, with all defaults resolved.

pub(crate) mod spec;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Extent, Inconsistency, Tool, WorkloadProperties, process_limit};
use crate::v1alpha1::{CommandPattern, CommandTool, RpcChannel};

/// Number of TCP ports over which the runs of a scenario's command are distributed, so that a port is not reused
/// immediately after an earlier run.
pub const COMMAND_PORTS: u16 = 256;
/// Maximum number of arguments of a command.
const MAX_ARGUMENTS: usize = 64;

/// Runs of a benchmark command. Every case runs the server on the target and the client on the initiator once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandWorkload {
    /// Benchmark tool whose output format the client uses.
    pub tool: CommandTool,
    /// Server command and its arguments, with placeholders; empty if only the client is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// Client command and its arguments, with placeholders.
    pub client: Vec<String>,
    /// Regular expression for the line that the server prints when it is ready. If unset, the server is ready when it
    /// listens on its port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// First of the [`COMMAND_PORTS`] consecutive TCP ports that the invocations use.
    pub port: u16,
    /// How to parse the output, if the tool is Regex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<CommandPattern>,
    /// Maximum duration of one run of the command, in seconds.
    pub timeout_seconds: u32,
}

impl CommandWorkload {
    /// Whether the numbers are within their bounds and the client is not empty.
    fn is_bounded(&self) -> bool {
        (1..=3600).contains(&self.timeout_seconds)
            && self.port >= 1024
            && self.port <= u16::MAX - COMMAND_PORTS
            && (1..=MAX_ARGUMENTS).contains(&self.client.len())
            && self.server.len() <= MAX_ARGUMENTS
    }

    /// Port for the run with this seed. Both workers of a pair know the seed.
    pub fn port_of(&self, seed: u64) -> u16 {
        self.port + (seed % u64::from(COMMAND_PORTS)) as u16
    }
}

/// A command is executed once. It can load any library, and transfers its data without the transport. Counters and log
/// lines show whether the data used the fabric.
impl WorkloadProperties for CommandWorkload {
    fn check(&self) -> Result<(), Inconsistency> {
        Inconsistency::unless(
            self.is_bounded(),
            "",
            "client is empty, or port, timeoutSeconds or the number of arguments is out of bounds",
        )
    }

    fn measured(&self) -> Extent {
        Extent::Iterations(1)
    }

    fn tool(&self) -> Option<Tool<'_>> {
        Some(Tool {
            kind: self.tool,
            pattern: self.pattern.as_ref(),
            server: &self.server,
            client: &self.client,
        })
    }

    fn requires_transport(&self, _channel: RpcChannel) -> bool {
        false
    }

    fn largest_message(&self, _max_size_bytes: u64) -> u64 {
        0
    }

    fn payload_arrives(&self, _channel: RpcChannel) -> [bool; 2] {
        [false; 2]
    }

    fn starts_processes(&self) -> bool {
        true
    }

    fn instrument_limit(
        &self,
        _channel: RpcChannel,
        case_deadline: Duration,
        _copy_time: Duration,
    ) -> Duration {
        process_limit(case_deadline, self.timeout_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_within_the_range() {
        let command = CommandWorkload {
            tool: CommandTool::Fabtests,
            server: Vec::new(),
            client: vec!["client".to_owned()],
            ready: None,
            port: 65_000,
            pattern: None,
            timeout_seconds: 1,
        };
        assert!(command.is_bounded());
        assert_eq!(command.port_of(0), 65_000);
        assert_eq!(command.port_of(u64::MAX), 65_255);
        let high = CommandWorkload {
            port: 65_300,
            ..command
        };
        assert!(!high.is_bounded());
    }
}
