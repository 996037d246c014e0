//! Converts the bytes of record streams to verified records, in order and each block once. Pure.
//!
//! A stream begins with the hello of rank 0 as line 0. Several streams may follow each other: the legs of a run,
//! attempts of a leg, or the same stream read again after a restart. Of every stream the longest prefix that
//! verifies counts; the rest is a [`Fault`]. A block counts from the first attempt in which its
//! `block` record verified, and only if every arm the plan gives it has a record.

mod case;
mod collector;
mod expected;
mod fault;
pub mod framing;

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{ColdRecord, EndRecord, EndpointsRecord, HelloRecord, WarningRecord};

pub use case::{Case, Measured, Outcome, PostedSide, Side};
pub use collector::Collector;
pub use fault::{BlockFault, Fault, FaultKind, RefusedStream};

use crate::plan::HashedPlan;

/// All verified records.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// The streams, in the order in which they started.
    pub streams: Vec<Stream>,
    /// The hello record of each worker.
    pub hellos: Vec<FromStream<HelloRecord>>,
    /// The endpoints of the arms, as the library returned them.
    pub endpoints: Vec<FromStream<EndpointsRecord>>,
    /// Start-up costs of each arm before its first measured operation, for each leg, round, worker and arm.
    pub cold: Vec<FromStream<ColdRecord>>,
    /// The cases of all blocks that count.
    pub cases: Vec<Case>,
    /// The first [`MAX_WARNINGS`] warnings of the workers.
    pub warnings: Vec<FromStream<WarningRecord>>,
    /// Number of further warnings.
    pub warnings_dropped: u64,
    /// Blocks that count, by leg.
    pub done: BTreeMap<u32, BTreeSet<u32>>,
    /// The first [`MAX_FAULTS`] rejected parts of the input.
    pub faults: Vec<Fault>,
    /// Number of further faults.
    pub faults_dropped: u64,
}

/// Maximum number of warnings kept. Further ones are counted.
pub const MAX_WARNINGS: usize = 1000;
/// Maximum number of faults kept. Further ones are counted.
pub const MAX_FAULTS: usize = 100;

/// The verified part of one stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Number of the leg.
    pub leg: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// Start time (RFC 3339, UTC).
    pub started_at: String,
    /// Version of the runner.
    pub runner_version: String,
    /// Number of verified lines.
    pub lines: u64,
    /// The end record; `None` if the stream was truncated or is still being written.
    pub end: Option<EndRecord>,
}

/// A record and the stream that contains it.
#[derive(Clone, Debug)]
pub struct FromStream<T> {
    /// Number of the leg.
    pub leg: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// The record.
    pub record: T,
}

impl Reports {
    /// Number of blocks that count, over all legs.
    pub fn blocks_done(&self) -> u32 {
        self.done.values().map(|blocks| blocks.len() as u32).sum()
    }

    /// Whether `block` of `leg` counts.
    pub fn is_done(&self, leg: u32, block: u32) -> bool {
        self.done.get(&leg).is_some_and(|blocks| blocks.contains(&block))
    }
}

/// Reads `bytes`, which contain one or more streams of the run with `uid` and of `plan`.
///
/// Never fails: input that cannot be used becomes a fault, and everything before it counts.
pub fn collect(plan: &HashedPlan, uid: &str, bytes: &[u8]) -> Reports {
    let mut collector = Collector::new(plan, uid);
    collector.feed(bytes);
    collector.finish()
}
