//! Log lines of a command that show which path its data used, or that something else about its values is doubtful.

use serde::{Deserialize, Serialize};

use crate::omitted::is_zero;

/// Log lines of one execution of a command. The number and the length of the lines are bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandLog {
    /// Distinct lines, each with the rule that recognized it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LogLine>,
    /// Number of distinct lines that a rule recognized and that `lines` omits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// Number of distinct lines that resemble a report of a fallback, but that no rule recognizes. `lines` contains the
    /// first of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecognized: u64,
    /// Lines that earlier runners recorded as reports of a fallback, without a rule. No longer written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// UCX lanes or NCCL networks that earlier runners recorded in round 0, as the library printed them. No longer written:
    /// `lines` contains them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<String>,
}

impl CommandLog {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Line that a command printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// Name of the rule that recognized the line, such as `nccl/network`. Unset if no rule did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the line shows.
    pub kind: LogLineKind,
    /// Names of the transports, providers, plug-ins or devices that the line is about, as the library prints them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Smallest message in bytes to which the line applies. Unset if it applies to all messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_bytes: Option<u64>,
    /// Largest message in bytes to which the line applies. Unset if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_bytes: Option<u64>,
    /// Text of the line after the prefix with time and process, without control characters.
    pub text: String,
    /// Program that printed the line. Unset in an existing log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<CommandProgram>,
    /// Stream that contains the line. Unset in an existing log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<LogStream>,
    /// Number of the line in the stream or in the log, starting at 1.
    pub line: u64,
}

impl LogLine {
    /// Whether the line applies to messages of `bytes` bytes.
    pub fn applies_to(&self, bytes: u64) -> bool {
        self.from_bytes.is_none_or(|from| from <= bytes) && self.to_bytes.is_none_or(|to| bytes <= to)
    }
}

/// What a log line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LogLineKind {
    /// Names the transports, the provider or the network that transfers the data.
    Path,
    /// Reports that a transport, a provider, a plug-in or a device is not available or was refused.
    Refusal,
    /// Reports that the library emulates an operation in software.
    Emulation,
    /// Reports that the network device does not access GPU memory directly.
    Staging,
    /// Reports that the times that the tool prints may be wrong.
    Time,
    /// Reports an error, or a warning that no other kind describes.
    Error,
    /// Resembles a report of a fallback, but no rule recognizes the line, so its meaning is unknown.
    Unknown,
}

/// Program of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CommandProgram {
    /// Client, on the initiator.
    Client,
    /// Server, on the target.
    Server,
}

impl CommandProgram {
    /// Name of the program in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Output stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogStream {
    /// Name of the stream in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "standard output",
            Self::Stderr => "standard error",
        }
    }
}
