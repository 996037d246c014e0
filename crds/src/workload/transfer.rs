//! Transfers with many messages in flight.

pub(crate) mod spec;

use serde::{Deserialize, Serialize};

use super::{Extent, Inconsistency, WorkloadProperties};
use crate::v1alpha1::{Direction, MemoryKind, OpenLoop, RpcChannel, TransferBuffers, TransferOperation};

/// What the threads of a transfer workload do in addition to transfers in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(try_from = "ModeFields", into = "ModeFields")]
pub enum TransferMode {
    /// Nothing.
    #[default]
    Plain,
    /// Every transfer is followed by a flush of the endpoint, which is part of its sample, if the library has flushes.
    /// Requires a window of 1 and one direction.
    Flushed,
    /// The initiator sends pings before its transfers, while the fabric is idle, and during them. Requires both directions,
    /// a closed loop and a single thread.
    WithPings,
    /// The threads are distributed over the NUMA nodes, each using the CPUs and the memory of its node, and every transfer
    /// in flight has separate memory, without a limit on the total size. The first burst of the warm-up is timed.
    Segments {
        /// Whether every burst of writes is followed by a burst of reads of the memory that it has written. Requires writes
        /// in one direction in a closed loop, and a window that equals the batch.
        read_back: bool,
        /// Kind of memory of the buffers of the last `threads / 2` threads on both sides. If unset, all threads use the
        /// scenario's memory.
        second_memory: Option<MemoryKind>,
    },
}

/// Fields of a mode in an assignment.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct ModeFields {
    /// Whether every transfer is followed by a flush.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    flush: bool,
    /// Whether the initiator sends pings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ping: bool,
    /// Whether every burst of writes between segments is followed by a burst of reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    read_back: bool,
    /// Whether the transfers are between segments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    segments: bool,
    /// Kind of memory of the last half of the threads of segments, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second_memory: Option<MemoryKind>,
}

impl From<TransferMode> for ModeFields {
    fn from(mode: TransferMode) -> Self {
        let none = Self::default();
        match mode {
            TransferMode::Plain => none,
            TransferMode::Flushed => Self { flush: true, ..none },
            TransferMode::WithPings => Self { ping: true, ..none },
            TransferMode::Segments {
                read_back,
                second_memory,
            } => Self {
                read_back,
                segments: true,
                second_memory,
                ..none
            },
        }
    }
}

impl TryFrom<ModeFields> for TransferMode {
    type Error = &'static str;

    fn try_from(fields: ModeFields) -> Result<Self, Self::Error> {
        let ModeFields {
            flush,
            ping,
            read_back,
            segments,
            second_memory,
        } = fields;
        match (flush, ping, segments) {
            (false, false, true) => Ok(Self::Segments {
                read_back,
                second_memory,
            }),
            _ if read_back || second_memory.is_some() => Err("readBack and secondMemory require segments"),
            (false, false, false) => Ok(Self::Plain),
            (true, false, false) => Ok(Self::Flushed),
            (false, true, false) => Ok(Self::WithPings),
            _ => Err("flush, ping and segments exclude each other"),
        }
    }
}

/// Transfer workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferWorkload {
    /// Operation that each transfer posts.
    pub operation: TransferOperation,
    /// Maximum number of transfers in flight per thread.
    pub window: u32,
    /// Number of transfers posted together in one burst.
    pub batch: u32,
    /// Number of initiator threads.
    pub threads: u32,
    /// Direction of the transfers between the workers of a pair.
    pub direction: Direction,
    /// Whether the transfers in flight have separate buffers.
    pub buffers: TransferBuffers,
    /// Intended start times of the measured transfers; unset for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// What the threads do in addition to transfers in the window.
    #[serde(flatten)]
    pub mode: TransferMode,
    /// Number of measured transfers per thread, or duration of the measurement.
    pub measured: Extent,
    /// Number of warm-up transfers per thread, or duration of the warm-up.
    pub warmup: Extent,
}

impl TransferWorkload {
    /// Creates a workload in which one thread posts transfers one by one in one direction and in a closed loop, without
    /// warm-up.
    pub fn new(operation: TransferOperation, window: u32, measured: Extent) -> Self {
        Self {
            operation,
            window,
            batch: 1,
            threads: 1,
            direction: Direction::Unidirectional,
            buffers: TransferBuffers::Separate,
            open_loop: None,
            mode: TransferMode::Plain,
            measured,
            warmup: Extent::Iterations(0),
        }
    }
}

impl TransferWorkload {
    /// Whether every transfer is followed by a flush.
    pub fn is_flushed(&self) -> bool {
        self.mode == TransferMode::Flushed
    }

    /// Whether the initiator sends pings.
    pub fn sends_pings(&self) -> bool {
        self.mode == TransferMode::WithPings
    }

    fn is_closed_loop_in_one_direction(&self) -> bool {
        self.direction == Direction::Unidirectional && self.open_loop.is_none()
    }
}

impl WorkloadProperties for TransferWorkload {
    fn check(&self) -> Result<(), Inconsistency> {
        let is_bounded = (1..=4096).contains(&self.window)
            && (1..=self.window).contains(&self.batch)
            && (1..=64).contains(&self.threads);
        Inconsistency::unless(is_bounded, "", "window, batch or threads is out of bounds")?;
        Inconsistency::unless(
            !self.is_flushed() || (self.window == 1 && !self.is_bidirectional()),
            ".flush",
            "requires a window of 1 and one direction",
        )?;
        let can_read_back = self.operation == TransferOperation::Write
            && self.is_closed_loop_in_one_direction()
            && self.window == self.batch;
        Inconsistency::unless(
            !self.reads_back() || can_read_back,
            ".readBack",
            "requires writes in one direction in a closed loop, and a window that equals the batch",
        )?;
        Inconsistency::unless(
            !self.sends_pings() || (self.threads == 1 && self.is_bidirectional() && self.open_loop.is_none()),
            ".ping",
            "requires both directions, a closed loop and a single thread",
        )
    }

    fn measured(&self) -> Extent {
        self.measured
    }

    fn set_measured(&mut self, measured: Extent) {
        self.measured = measured;
    }

    fn warmup(&self) -> Extent {
        self.warmup
    }

    fn open_loop(&self) -> Option<OpenLoop> {
        self.open_loop
    }

    fn set_open_loop(&mut self, open_loop: OpenLoop) {
        self.open_loop = Some(open_loop);
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn operation(&self) -> TransferOperation {
        self.operation
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn batch(&self) -> u32 {
        self.batch
    }

    fn is_pipelined(&self) -> bool {
        true
    }

    fn shares_buffers(&self) -> bool {
        self.buffers == TransferBuffers::Shared
    }

    fn is_bidirectional(&self) -> bool {
        self.direction == Direction::Bidirectional
    }

    fn reads_back(&self) -> bool {
        matches!(self.mode, TransferMode::Segments { read_back: true, .. })
    }

    fn has_segments(&self) -> bool {
        matches!(self.mode, TransferMode::Segments { .. })
    }

    fn second_memory(&self) -> Option<(MemoryKind, u32)> {
        match self.mode {
            TransferMode::Segments { second_memory, .. } => Some((second_memory?, self.threads.div_ceil(2))),
            TransferMode::Plain | TransferMode::Flushed | TransferMode::WithPings => None,
        }
    }

    fn payload_arrives(&self, _channel: RpcChannel) -> [bool; 2] {
        let both = self.is_bidirectional() || self.reads_back();
        let is_read = self.operation == TransferOperation::Read;
        [both || is_read, both || !is_read]
    }

    fn suits_many_to_many(&self) -> bool {
        self.is_closed_loop_in_one_direction()
            && self.mode == TransferMode::Plain
            && matches!(self.measured, Extent::DurationNanos(_))
    }

    fn allows_local_write_completion(&self, many_to_many: bool) -> bool {
        !self.writes()
            || (self.is_closed_loop_in_one_direction()
                && !self.is_flushed()
                && !self.reads_back()
                && !many_to_many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_a_set_of_fields_of_which_only_some_can_be_combined() {
        let plain = TransferWorkload::new(TransferOperation::Write, 4, Extent::Iterations(1));
        let modes = [
            (TransferMode::Plain, ""),
            (TransferMode::Flushed, r#""flush":true,"#),
            (TransferMode::WithPings, r#""ping":true,"#),
            (
                TransferMode::Segments {
                    read_back: true,
                    second_memory: Some(MemoryKind::Cuda),
                },
                r#""readBack":true,"segments":true,"secondMemory":"Cuda","#,
            ),
        ];
        for (mode, fields) in modes {
            let workload = TransferWorkload {
                mode,
                ..plain.clone()
            };
            let json = serde_json::to_string(&workload).unwrap();
            assert!(
                json.contains(&format!(r#""buffers":"Separate",{fields}"measured""#)),
                "{json}"
            );
            assert_eq!(serde_json::from_str::<TransferWorkload>(&json).unwrap(), workload);
        }
        let error = |fields: &str| {
            let json = serde_json::to_string(&plain).unwrap();
            let json = json.replacen('{', &format!("{{{fields},"), 1);
            serde_json::from_str::<TransferWorkload>(&json)
                .unwrap_err()
                .to_string()
        };
        assert!(error(r#""flush":true,"ping":true"#).contains("exclude each other"));
        assert!(error(r#""readBack":true"#).contains("require segments"));
        assert!(error(r#""flushes":true"#).contains("unknown field `flushes`"));
    }
}
