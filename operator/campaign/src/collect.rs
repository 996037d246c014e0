//! Parses the bytes of record streams into verified records, in order, accepting each block only once. Performs no I/O.
//!
//! A stream starts with the hello record of rank 0 as line 0. The input may be a concatenation of streams: streams of
//! different legs, streams of several attempts of a leg, or one stream that was read again after a restart. The longest
//! verified prefix of each stream is used; the rest is reported as a [`Fault`]. A block is taken from the first attempt
//! in which its `block` record is verified and every arm that the plan assigns to the block has a record. In a stage
//! after the first, a block may omit arms. An attempt that measures all arms of this block and others replaces it.
//!
//! Claim records, which the operator writes, are streams of a single line. They may stand between any two lines of another
//! stream.

mod case;
mod collector;
mod expected;
mod fault;
pub mod framing;
mod oversized;

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{
    ClaimRecord, ColdRecord, ConfigurationRecord, EndRecord, EndpointsRecord, HelloRecord, ProtocolsRecord,
    WarningRecord,
};

pub use case::{Case, CaseOutcome, Measured, PingTimes, ServingTimes, Side, SidePosts};
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
    /// The arms' endpoints, as the library returned them.
    pub endpoints: Vec<FromStream<EndpointsRecord>>,
    /// Setup costs of each arm before its first measured operation, by leg, round and worker.
    pub cold: Vec<FromStream<ColdRecord>>,
    /// Protocols that the libraries used for each arm, by leg and worker.
    pub protocols: Vec<FromStream<ProtocolsRecord>>,
    /// Files that the arms' processes loaded, and what these files know about environment variables, by leg.
    pub configurations: Vec<FromStream<ConfigurationRecord>>,
    /// Devices that the workers' claims obtained, by leg, worker and group.
    pub claims: Vec<FromStream<ClaimRecord>>,
    /// Cases of all verified blocks.
    pub cases: Vec<Case>,
    /// The first [`MAX_WARNINGS`] warnings from the workers.
    pub warnings: Vec<FromStream<WarningRecord>>,
    /// Number of warnings beyond [`MAX_WARNINGS`].
    pub warnings_dropped: u64,
    /// Numbers of the verified blocks, by leg.
    pub done: BTreeMap<u32, BTreeSet<u32>>,
    /// The first [`MAX_FAULTS`] rejected parts of the input.
    pub faults: Vec<Fault>,
    /// Number of faults beyond [`MAX_FAULTS`].
    pub faults_dropped: u64,
}

/// Maximum number of stored warnings. Further warnings are only counted.
pub const MAX_WARNINGS: usize = 1000;
/// Maximum number of stored configuration records.
pub const MAX_CONFIGURATIONS: usize = 4096;
/// Maximum number of stored faults. Further faults are only counted.
pub const MAX_FAULTS: usize = 100;

/// The verified part of one stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Leg number.
    pub leg: u32,
    /// Attempt number.
    pub attempt: u32,
    /// Start time (RFC 3339, UTC).
    pub started_at: String,
    /// Runner version.
    pub runner_version: String,
    /// Number of verified lines.
    pub lines: u64,
    /// The end record; `None` if the stream was truncated or is still being written.
    pub end: Option<EndRecord>,
}

/// A record and the stream that contains it.
#[derive(Clone, Debug)]
pub struct FromStream<T> {
    /// Leg number.
    pub leg: u32,
    /// Attempt number.
    pub attempt: u32,
    /// The record.
    pub record: T,
}

impl Reports {
    /// Number of completed and verified blocks, across all legs.
    pub fn blocks_done(&self) -> u32 {
        self.done.values().map(|blocks| blocks.len() as u32).sum()
    }

    /// The hello record of the worker with `rank` in the attempt of `case`; `None` if it is missing.
    pub fn hello(&self, case: &Case, rank: u32) -> Option<&HelloRecord> {
        let key = (case.leg, case.attempt, rank);
        let mut hellos = self.hellos.iter();
        let found = hellos.find(|from| (from.leg, from.attempt, from.record.rank) == key);
        found.map(|from| &from.record)
    }

    /// The node of each worker, or its hostname if it did not report a node, by leg, attempt and rank.
    pub fn nodes(&self) -> BTreeMap<(u32, u32, u32), &str> {
        let hellos = self.hellos.iter().map(|from| {
            let worker = (from.leg, from.attempt, from.record.rank);
            (worker, from.record.environment.node_or_hostname())
        });
        hellos.collect()
    }

    /// The records of the legs for which `includes` returns true.
    pub fn filter_legs(&self, includes: impl Fn(u32) -> bool) -> Self {
        fn filter_streams<T: Clone>(
            all: &[FromStream<T>],
            includes: &impl Fn(u32) -> bool,
        ) -> Vec<FromStream<T>> {
            let found = all.iter().filter(|from| includes(from.leg));
            found.cloned().collect()
        }
        let done = self.done.iter().filter(|(leg, _)| includes(**leg));
        let streams = self.streams.iter().filter(|stream| includes(stream.leg));
        let cases = self.cases.iter().filter(|case| includes(case.leg));
        Self {
            streams: streams.cloned().collect(),
            hellos: filter_streams(&self.hellos, &includes),
            endpoints: filter_streams(&self.endpoints, &includes),
            cold: filter_streams(&self.cold, &includes),
            protocols: filter_streams(&self.protocols, &includes),
            configurations: filter_streams(&self.configurations, &includes),
            claims: filter_streams(&self.claims, &includes),
            cases: cases.cloned().collect(),
            warnings: filter_streams(&self.warnings, &includes),
            done: done.map(|(leg, blocks)| (*leg, blocks.clone())).collect(),
            ..Self::default()
        }
    }

    /// Whether block `block` of leg `leg` has complete, verified records.
    pub fn is_done(&self, leg: u32, block: u32) -> bool {
        self.done.get(&leg).is_some_and(|blocks| blocks.contains(&block))
    }
}

/// Reads `bytes`, which contain one or more streams of the run with UID `uid` and plan `plan`.
///
/// Never fails: unusable input is reported as a [`Fault`], and the verified records before it are used.
pub fn collect(plan: &HashedPlan, uid: &str, bytes: &[u8]) -> Reports {
    let mut collector = Collector::new(plan, uid);
    collector.feed(bytes);
    collector.finish()
}
