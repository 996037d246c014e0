//! Messages between an instrument and a command's supervisor, over the supervisor's standard input. Performs no I/O.

use serde::{Deserialize, Serialize};

/// Maximum length of a message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// A command to execute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandLine {
    /// Program and arguments.
    pub arguments: Vec<String>,
    /// Environment variables to set in addition to those of the instrument.
    pub env: Vec<(String, String)>,
    /// CPUs that the command may use. If empty, it may use the instrument's CPUs.
    pub cpus: Vec<u32>,
}

/// Request from the instrument. If the connection ends, the supervisor kills the command immediately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// Execute a command. This must be the first request.
    Execute(CommandLine),
    /// Terminate the command, and kill its remaining processes.
    Stop,
}

/// Event that the supervisor reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// The command has started.
    Started,
    /// The command cannot be executed.
    NotStarted {
        /// Why it cannot be executed.
        message: String,
    },
    /// The command has exited.
    Exited {
        /// Whether its exit status is 0.
        success: bool,
        /// Description of the exit status.
        description: String,
        /// Names of the processes that the command left behind.
        left: Vec<String>,
    },
    /// All processes of the command have exited.
    Stopped,
}
