//! The verified records.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{
    ClaimRecord, ColdRecord, ConfigurationRecord, EndRecord, EndpointsRecord, HelloRecord, ProtocolsRecord,
    WarningRecord,
};

use super::case::Case;
use super::fault::Fault;

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
