//! Result of an integrity check.

use serde::{Deserialize, Serialize};

use super::super::CommandLog;

/// Result of an integrity check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IntegrityReport {
    /// Number of checked transfers.
    pub transfers: u64,
    /// Number of checked bytes. Every byte of every transfer is checked.
    pub bytes: u64,
    /// Expected CRC32C of all checked bytes, in hexadecimal.
    pub crc32c_expected: String,
    /// Actual CRC32C of all checked bytes, in hexadecimal.
    pub crc32c_found: String,
    /// First mismatching byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_mismatch: Option<Mismatch>,
    /// Number of chunks of striped transfers that were not completely written when the transfer completed.
    pub torn_chunks: u64,
    /// Number of chunks that arrived more than once.
    pub duplicated_chunks: u64,
    /// Log lines of a command's libraries. The runner cannot verify a command's data. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLog>,
}

/// Mismatching byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mismatch {
    /// Number of the thread that checked the byte.
    #[serde(default)]
    pub thread: u32,
    /// Index of the batch on this thread, starting at 0. Unset for a ping-pong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Index of the transfer on this thread, starting at 0.
    pub transfer: u64,
    /// Offset in the transfer, in bytes.
    pub offset_bytes: u64,
    /// Expected value.
    pub expected: u8,
    /// Actual value.
    pub found: u8,
}
