//! `import.json`, which describes an imported run. Performs no I/O.

use campaign::distinct::distinct;
use crds::units::Size;
use crds::v1alpha1::{CommandPattern, CommandTool};
use serde::{Deserialize, Serialize};

/// Maximum number of logs in a run.
pub const MAX_LOGS: usize = 256;
/// Maximum number of variants in a run.
pub const MAX_VARIANTS: usize = 16;

/// Description of an imported run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Always `ImportedRun`, so that the file cannot be mistaken for a BenchmarkRun.
    pub kind: Kind,
    /// Name of the run.
    pub name: String,
    /// State of the run.
    pub status: Status,
    /// Tool that produced the logs.
    pub tool: CommandTool,
    /// How to parse the logs if the tool is `Regex`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<CommandPattern>,
    /// Size of a message or transfer in all logs, if the tool does not print it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Time of the import, not of the measurement.
    pub imported_at: String,
    /// Version of fabricbench that imported the logs.
    pub version: String,
    /// Logs in command-line order. All other variants are compared with the variant of the first log.
    pub logs: Vec<StoredLog>,
}

/// Kind of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A run created from existing logs.
    ImportedRun,
}

/// State of an imported run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Status {
    /// Always `Imported`.
    pub state: State,
    /// Always `NotControlled`.
    pub reason: Reason,
}

/// State of an imported run. It differs from every BenchmarkRun state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Created from existing logs.
    Imported,
}

/// Why an imported run has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// fabricbench did not control the measurement.
    NotControlled,
}

impl Status {
    /// The status that every imported run has.
    pub const IMPORTED: Self = Self {
        state: State::Imported,
        reason: Reason::NotControlled,
    };
}

/// Log of one run of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredLog {
    /// Name of the variant to which the log belongs.
    pub variant: String,
    /// Path from which the log was imported. Informational only.
    pub source: String,
    /// SHA-256 hash of the log's content.
    pub sha256: String,
}

impl Manifest {
    /// Returns the variant names, in the order of their first log.
    pub fn variants(&self) -> Vec<&str> {
        distinct(self.logs.iter().map(|log| log.variant.as_str()))
    }

    /// Returns the number of logs of the variant `name`.
    pub fn logs_of(&self, name: &str) -> usize {
        self.logs.iter().filter(|log| log.variant == name).count()
    }
}
