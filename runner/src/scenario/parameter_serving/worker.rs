//! Work of one worker: it receives or fetches versions, posts to the trainer, and computes its staleness at the end.

use std::io;
use std::path::Path;

use crds::assignment::{Delivery, Extent, ServingWorkload};
use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::TransferOperation;

use super::clock_offset::{self, EXCHANGES, Exchange, Relation};
use super::multicast::Receiver;
use super::parameters::{Parameters, Verification};
use super::staleness::{self, TrainerEvents, WorkerObservations};
use super::store::{FetchResult, StoreReader};
use super::table::{self, ClockReading, FinalTable};
use super::worker_measurement::WorkerMeasurement;
use crate::immediate::Signal;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::memory::Memory;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::{Engine, TransferOffsets, failure};
use crate::scenario::thread_report::ThreadMeasurement;
use crate::transport::Transport;

/// Maximum time between two socket polls, in nanoseconds.
const SOCKET_NANOS: u64 = 200_000;
/// Time in nanoseconds without a datagram after which all missing datagrams from a finished trainer are considered
/// lost.
const DRAIN_NANOS: u64 = 100_000_000;

/// Work of one worker.
pub struct Worker<'a> {
    serving: &'a ServingWorkload,
    version_source: Option<VersionSource>,
    /// Best clock exchange before the measurement, and the trainer's boot ID.
    clock: Option<(Exchange, u64)>,
    observed: WorkerObservations,
    torn: u64,
    pulls: Recorder,
    next_pull: u64,
    next_post: u64,
}

/// How versions reach the worker.
enum VersionSource {
    /// The worker reads them from a file.
    File(StoreReader, Parameters),
    /// The worker receives them from a multicast group.
    Group(Receiver, Parameters),
    /// The trainer writes them into this worker's memory. `seen` is the number of the last version that was verified.
    Memory {
        parameters: Parameters,
        seen: Option<u64>,
    },
    /// The worker reads them from the trainer's memory.
    Read {
        parameters: Parameters,
        state: PullState,
    },
}

/// State of the reads in `Pull` mode.
#[derive(Clone, Copy, Debug)]
enum PullState {
    /// No read is in flight.
    Idle,
    /// The number of the latest version is being read.
    Head { started_at: u64 },
    /// A version is being read.
    Version { version: u64, started_at: u64 },
}

impl<'a> Worker<'a> {
    /// Creates the work of a worker.
    pub fn new(serving: &'a ServingWorkload) -> Self {
        Self {
            serving,
            version_source: None,
            clock: None,
            observed: WorkerObservations {
                step_nanos: serving.step_nanos,
                installs: Vec::with_capacity(serving.max_version as usize),
                posts: Vec::with_capacity(serving.max_posts() as usize),
                ..WorkerObservations::default()
            },
            torn: 0,
            pulls: Recorder::new(Extent::DurationNanos(serving.max_time_nanos)),
            next_pull: 0,
            next_post: 0,
        }
    }

    /// Starts the measurement at time `now`.
    fn start_at(&mut self, now: u64) {
        self.observed.start = now;
        self.next_pull = now;
        self.next_post = now.saturating_add(self.serving.post_nanos);
    }

    /// Records a post if one is due at time `now`. If the trainer ends late, no posts are recorded beyond those that
    /// fit into the final table.
    fn record_post_if_due(&mut self, now: u64) -> bool {
        if now < self.next_post {
            return false;
        }
        self.observed.posts.push(now);
        self.next_post = match (self.observed.posts.len() as u64) < self.serving.max_posts() {
            true => self.next_post.saturating_add(self.serving.post_nanos),
            false => u64::MAX,
        };
        true
    }

    fn version_in_use(&self) -> Option<u64> {
        self.observed.installs.last().map(|(_, version)| *version)
    }

    /// Uses `version`, whose bytes have been verified, from now on. An older version is ignored.
    fn install(&mut self, version: u64) {
        if self.version_in_use().is_none_or(|held| version > held) {
            self.observed.installs.push((clock::now(), version));
        }
    }

    fn open<T: Transport>(&self, engine: &Engine<'_, T>, key: u64) -> Result<VersionSource, CaseFailure> {
        let parameters = Parameters::new(key, engine.geometry.size);
        Ok(match &self.serving.delivery {
            Delivery::Filesystem { directory } => {
                let reader = StoreReader::open(Path::new(directory), &parameters, key);
                let reader = reader.map_err(|error| store_failure(directory, &error))?;
                VersionSource::File(reader, parameters)
            }
            Delivery::Multicast(delivery) => {
                let receiver = Receiver::open(delivery, &parameters, key, self.serving.max_version);
                VersionSource::Group(receiver.map_err(|error| socket_failure(&error))?, parameters)
            }
            Delivery::Push => VersionSource::Memory {
                parameters,
                seen: None,
            },
            Delivery::Pull => VersionSource::Read {
                parameters,
                state: PullState::Idle,
            },
        })
    }

    /// Whether a pull is due. If so, the next pull is due after one period, or later if pulls take longer than the
    /// period.
    fn pull_is_due(&mut self, now: u64) -> bool {
        if now < self.next_pull {
            return false;
        }
        let period = self.serving.pull_nanos;
        self.next_pull += ((now - self.next_pull) / period + 1) * period;
        true
    }

    /// Receives or fetches a version if possible. Returns whether the worker should continue immediately.
    fn receive<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        memory: &Memory,
    ) -> Result<bool, CaseFailure> {
        let Some(mut version_source) = self.version_source.take() else {
            return Ok(false);
        };
        let received = match &mut version_source {
            VersionSource::File(reader, parameters) => self.fetch(reader, parameters),
            VersionSource::Group(receiver, parameters) => self.take_datagrams(receiver, parameters),
            VersionSource::Memory { parameters, seen } => {
                self.verify_pushed(engine, memory, parameters, seen)
            }
            VersionSource::Read { parameters, state } => self.read(engine, memory, parameters, state),
        };
        self.version_source = Some(version_source);
        received
    }

    fn fetch(&mut self, reader: &mut StoreReader, parameters: &mut Parameters) -> Result<bool, CaseFailure> {
        let started_at = clock::now();
        if !self.pull_is_due(started_at) {
            return Ok(false);
        }
        let fetched = reader.fetch(parameters, self.version_in_use());
        let Delivery::Filesystem { directory } = &self.serving.delivery else {
            return Ok(false);
        };
        match fetched.map_err(|error| store_failure(directory, &error))? {
            FetchResult::NotNewer => {}
            FetchResult::Torn => {
                self.torn += 1;
                self.next_pull = started_at;
            }
            FetchResult::Newer(version) => {
                self.install(version);
                self.pulls.record(clock::now() - started_at);
            }
        }
        Ok(true)
    }

    fn take_datagrams(
        &mut self,
        receiver: &mut Receiver,
        parameters: &mut Parameters,
    ) -> Result<bool, CaseFailure> {
        let mut idle = false;
        let received = receiver.receive(parameters, &mut idle);
        match received.map_err(|error| socket_failure(&error))? {
            Some(Verification::Intact(version)) => self.install(version),
            Some(Verification::Torn) => self.torn += 1,
            None => {}
        }
        Ok(!idle)
    }

    fn verify_pushed<T: Transport>(
        &mut self,
        engine: &Engine<'_, T>,
        memory: &Memory,
        parameters: &mut Parameters,
        seen: &mut Option<u64>,
    ) -> Result<bool, CaseFailure> {
        let Some(version) = engine.inbox.version.filter(|_| engine.inbox.version > *seen) else {
            return Ok(false);
        };
        *seen = Some(version);
        let slot = ServingWorkload::slot_offset(version, engine.geometry.size);
        self.verify_landing(engine, memory, parameters, slot, version)?;
        Ok(true)
    }

    /// Verifies `version` in this worker's memory, and uses it if it is intact. Returns whether it is intact.
    fn verify_landing<T: Transport>(
        &mut self,
        engine: &Engine<'_, T>,
        memory: &Memory,
        parameters: &mut Parameters,
        slot: u64,
        version: u64,
    ) -> Result<bool, CaseFailure> {
        let base = (engine.geometry.landing_base + slot) as usize;
        let verified = parameters.verify(|offset, bytes| memory.read_into(base + offset, bytes))?;
        let is_intact = verified == Verification::Intact(version);
        if is_intact {
            self.install(version);
        } else {
            self.torn += 1;
        }
        Ok(is_intact)
    }

    fn read<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        memory: &Memory,
        parameters: &mut Parameters,
        state: &mut PullState,
    ) -> Result<bool, CaseFailure> {
        let size = engine.geometry.size;
        let head = ServingWorkload::table_offset(size) + table::HEAD;
        if engine.outgoing.in_flight() > 0 {
            return Ok(false);
        }
        match *state {
            PullState::Idle => {
                let started_at = clock::now();
                if engine.inbox.serving_ended || !self.pull_is_due(started_at) {
                    return Ok(false);
                }
                let offsets = TransferOffsets {
                    source: head,
                    landing: engine.geometry.landing_base + head,
                };
                engine.post_bytes(TransferOperation::Read, offsets, 8)?;
                *state = PullState::Head { started_at };
            }
            PullState::Head { started_at } => {
                let words = table::read_words(memory, engine.geometry.landing_base + head, 1);
                let offered = words?.first().copied().unwrap_or(0);
                let latest = offered.checked_sub(1);
                *state = PullState::Idle;
                if let Some(version) = latest.filter(|_| latest > self.version_in_use()) {
                    let source = ServingWorkload::slot_offset(version, size);
                    let landing = engine.geometry.landing_base;
                    engine.post_at(TransferOffsets { source, landing })?;
                    *state = PullState::Version { version, started_at };
                }
            }
            PullState::Version { version, started_at } => {
                *state = PullState::Idle;
                if self.verify_landing(engine, memory, parameters, 0, version)? {
                    self.pulls.record(clock::now() - started_at);
                } else {
                    // The trainer replaced the version while it was being read.
                    self.next_pull = clock::now();
                }
            }
        }
        Ok(true)
    }

    /// Receives the datagrams that are still in flight.
    fn drain<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        memory: &Memory,
    ) -> Result<(), CaseFailure> {
        if !matches!(self.version_source, Some(VersionSource::Group(..))) {
            return engine.wait_for_local_completions();
        }
        let mut quiet_since = clock::now();
        loop {
            let now = clock::now();
            if self.receive(engine, memory)? {
                quiet_since = now;
            } else if now.saturating_sub(quiet_since) >= DRAIN_NANOS {
                return Ok(());
            } else if !engine.poll()? {
                engine.idle_until("waiting for the last datagrams", now + SOCKET_NANOS)?;
            }
        }
    }

    /// Time of the next event that is due.
    fn next_due(&self, now: u64) -> u64 {
        let next_post = self.next_post;
        match &self.version_source {
            Some(VersionSource::Group(..)) => next_post.min(now + SOCKET_NANOS),
            Some(VersionSource::File(..) | VersionSource::Read { .. }) => next_post.min(self.next_pull),
            Some(VersionSource::Memory { .. }) | None => next_post,
        }
    }
}

/// Determines the relation between this worker's clock and the trainer's clock. Returns the best exchange and the last
/// reading.
fn exchange_clocks<T: Transport>(
    engine: &mut Engine<'_, T>,
    memory: &Memory,
) -> Result<(Exchange, ClockReading), CaseFailure> {
    let table = engine.geometry.landing_base + ServingWorkload::table_offset(engine.geometry.size);
    let mut exchanges = Vec::with_capacity(EXCHANGES as usize);
    let mut reading = ClockReading::default();
    for _ in 0..EXCHANGES {
        let received = engine.inbox.clock_readings;
        let before = clock::now();
        engine.signal(Signal::ClockRequest)?;
        engine.serve_until("waiting for a reading of the trainer's clock", |engine| {
            engine.inbox.clock_readings > received
        })?;
        let after = clock::now();
        reading = ClockReading::load(memory, table)?;
        exchanges.push(Exchange {
            before,
            trainer: reading.nanos,
            after,
        });
    }
    let best = clock_offset::shortest_exchange(exchanges).ok_or_else(|| {
        let message = "no clock was read; this is a bug in fabricbench".to_owned();
        failure(FailureReason::Internal, message)
    })?;
    Ok((best, reading))
}

fn store_failure(directory: &str, error: &io::Error) -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        format!(
            "the parameters cannot be read from {directory} (parameterServing.directory): {error}; use a directory that is \
             on the same file system for the trainer and the workers"
        ),
    )
}

fn socket_failure(error: &io::Error) -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        format!(
            "the datagrams cannot be received (parameterServing.multicast): {error}; use an interface and a group that this \
             worker can join"
        ),
    )
}

impl<T: Transport> Work<T> for Worker<'_> {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let memory = engine.memory()?;
        let (exchange, reading) = exchange_clocks(engine, &memory)?;
        self.clock = Some((exchange, reading.boot));
        self.version_source = Some(self.open(engine, reading.key)?);
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let memory = engine.memory()?;
        let start = clock::now();
        self.start_at(start);
        while !engine.inbox.serving_ended {
            let polled = engine.poll()?;
            let now = clock::now();
            if self.record_post_if_due(now) {
                engine.signal(Signal::VersionPost)?;
            }
            let received = self.receive(engine, &memory)?;
            if polled || received {
                continue;
            }
            if engine.outgoing.in_flight() > 0 {
                engine.idle("fetching a version")?;
            } else {
                engine.idle_until("waiting for parameters", self.next_due(now))?;
            }
        }
        let end = clock::now();
        self.observed.end = end;
        self.drain(engine, &memory)?;
        engine.signal(Signal::StepsEnd(self.observed.posts.len() as u64))?;
        let (last, _) = exchange_clocks(engine, &memory)?;
        engine.serve_until("waiting for the publication times", |engine| {
            engine.inbox.table_ready
        })?;
        let base = engine.geometry.landing_base + ServingWorkload::table_offset(engine.geometry.size);
        let table = FinalTable::load(&memory, base)?;
        let (first, boot) = self.clock.unwrap_or((last, 0));
        let same_boot = boot != 0 && boot == clock_offset::boot_number();
        let relation = Relation::new(same_boot, first, last);
        let received = self.observed.installs.len() as u64;
        // Versions that arrived after the last step were not used at any step.
        self.observed.installs.retain(|(at, _)| *at <= end);
        let published = TrainerEvents {
            times: table.times.iter().map(|time| relation.on_worker(*time)).collect(),
            receipts: table.receipts,
        };
        let mut staleness = staleness::evaluate(&self.observed, &published);
        staleness.worker.torn = self.torn;
        if let Some(VersionSource::Group(receiver, _)) = &self.version_source {
            let sent = published.times.len() as u64;
            staleness.worker.datagrams = Some(receiver.report(table.datagrams, sent, received));
        }
        let mut recorder = Recorder::new(Extent::DurationNanos(self.serving.max_time_nanos));
        for lag in &staleness.store_lags {
            recorder.record(*lag);
        }
        let pulls = std::mem::replace(&mut self.pulls, Recorder::new(Extent::Iterations(0)));
        let versions = staleness.worker.versions;
        Ok(Some(ThreadMeasurement {
            serving: Some(Box::new(WorkerMeasurement {
                staleness,
                published: published.times.len() as u64,
                pulls,
                relation,
            })),
            ..ThreadMeasurement::new(versions, start, end, recorder)
        }))
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::MemoryKind;

    use super::*;

    #[test]
    fn posts_fit_in_the_final_table_if_the_trainer_ends_late() {
        let serving = ServingWorkload {
            delivery: Delivery::Push,
            workers: 1,
            push_nanos: 10,
            pull_nanos: 10,
            post_nanos: 7,
            step_nanos: 1,
            max_version: 5,
            max_time_nanos: 100,
        };
        let mut worker = Worker::new(&serving);
        worker.start_at(1000);
        // The trainer takes ten times longer than planned.
        let posts = (1000..2000).filter(|now| worker.record_post_if_due(*now)).count();
        assert_eq!(posts as u64, serving.max_posts());
        assert_eq!(worker.next_due(2000), u64::MAX);
        let size = 64;
        let memory =
            Memory::allocate(MemoryKind::Heap, serving.slots_and_table_bytes(size) as usize).unwrap();
        let table = FinalTable {
            times: vec![1; serving.max_version as usize],
            receipts: vec![1; worker.observed.posts.len()],
            datagrams: 0,
        };
        table.store(&memory, ServingWorkload::table_offset(size)).unwrap();
    }
}
