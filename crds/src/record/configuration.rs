//! What a process of an arm loaded, and what its libraries know about the environment variables that the arms set.

use serde::{Deserialize, Serialize};

use crate::omitted::is_zero;

/// Maximum number of variables in one record. Further variables are in further records.
pub const MAX_RECORDED_VARIABLES: usize = 16;
/// Maximum number of files in one record. Further files are in further records.
pub const MAX_RECORDED_FILES: usize = 32;

/// Maximum number of configuration records of a leg. Further configurations are omitted, and a warning counts them.
pub const MAX_CONFIGURATION_RECORDS: usize = 48;

/// Configuration of the processes of one or more arms in round 0, in which no result is measured: the files that the
/// dynamic loader loaded, and the environment variables that the arms of the leg set. Written once for all workers and
/// arms whose configurations are equal. A long configuration is divided among several records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationRecord {
    /// Round number.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before this record, because a worker or an
    /// instrument was lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart: u32,
    /// Ranks of the workers.
    pub ranks: Vec<u32>,
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Command scenario whose command the record describes. Unset for the instrument process, which measures all other
    /// scenarios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Environment variables that the arms of the leg set, whether or not this arm sets them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableFacts>,
    /// Files that the dynamic loader loaded, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<LoadedFile>,
    /// SHA-256 hash of the list of all loaded files, in hexadecimal. The hash input contains the SHA-256 hash of the
    /// file, two spaces, the file name without its directory, and a line feed for each file, sorted by byte value. Unset
    /// if a loaded file could not be read or is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_sha256: Option<String>,
    /// Why the list of loaded files may be incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

/// File that the dynamic loader loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoadedFile {
    /// Path of the file.
    pub path: String,
    /// SHA-256 hash of the file, in hexadecimal. Unset if the file could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Release, as reported by the library. Unset for files that are not a known library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What the loaded files know about one environment variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VariableFacts {
    /// Name of the variable.
    pub name: String,
    /// Whether a loaded file reads the variable.
    pub knowledge: VariableKnowledge,
    /// Effective value in the process, as the library reports it, or as it states the default. Numbers are decimal and
    /// Boolean values are `true` or `false`. Unset if the library does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<String>,
    /// Known variable with the most similar name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// Explanation, such as the library that reads the variable.
    pub reason: String,
}

/// Whether a loaded file reads an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum VariableKnowledge {
    /// A library lists the variable, or a loaded file contains its name.
    Known,
    /// The library to which the prefix of the name belongs is loaded and does not have a variable with this name.
    Unknown,
    /// The library to which the prefix of the name belongs is not loaded.
    NotLoaded,
    /// It cannot be determined whether the variable is read.
    Unassessed,
}
