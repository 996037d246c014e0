//! Bytes of record streams to checked records, in order, each block once. Pure, no I/O.
//!
//! A stream begins with the hello of rank 0 as line 0. Several streams may follow each other: the legs of a run,
//! attempts of a leg, or the same stream read again after a restart. Of every stream the longest prefix that
//! proves itself counts; what comes after is a [`Fault`]. A block counts from the first attempt in which its
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

use crate::plan::Plan;

/// Everything that verified.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// The streams, in the order they were begun.
    pub streams: Vec<Stream>,
    /// What each worker said of itself.
    pub hellos: Vec<FromStream<HelloRecord>>,
    /// What the endpoints of the arms really were.
    pub endpoints: Vec<FromStream<EndpointsRecord>>,
    /// What each arm cost before its first measured operation; once for each leg, round, worker and arm.
    pub cold: Vec<FromStream<ColdRecord>>,
    /// The cases of all blocks that count.
    pub cases: Vec<Case>,
    /// Warnings of the workers, the first [`MAX_WARNINGS`].
    pub warnings: Vec<FromStream<WarningRecord>>,
    /// Warnings beyond these.
    pub warnings_dropped: u64,
    /// Blocks that count, by leg.
    pub done: BTreeMap<u32, BTreeSet<u32>>,
    /// What was refused, the first [`MAX_FAULTS`].
    pub faults: Vec<Fault>,
    /// Refusals beyond these.
    pub faults_dropped: u64,
}

/// Most warnings kept; a run that has more says so.
pub const MAX_WARNINGS: usize = 1000;
/// Most faults kept; a file that has more says so.
pub const MAX_FAULTS: usize = 100;

/// One stream, as far as it verified.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Number of the leg.
    pub leg: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// When it was begun (RFC 3339, UTC).
    pub started_at: String,
    /// Version of the runner.
    pub runner_version: String,
    /// Lines that verified.
    pub lines: u64,
    /// Its last record; nothing where the stream was cut off or is still being written.
    pub end: Option<EndRecord>,
}

/// A record and the stream it came in.
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

/// Reads `bytes`, one or many streams, of the run with `uid` and the plan with `plan_hash`.
///
/// Never fails: what cannot be used is a fault in the answer, and everything before it counts.
pub fn collect(plan: &Plan, uid: &str, plan_hash: &str, bytes: &[u8]) -> Reports {
    let mut collector = Collector::new(plan, uid, plan_hash);
    collector.feed(bytes);
    collector.finish()
}
