//! Work of one trainer thread: it serves one worker, and thread 0 also publishes the versions.

use std::io;
use std::path::Path;

use crds::assignment::{Delivery, Extent, ServingWorkload};
use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::TransferOperation;

use super::clock_offset::{self, EXCHANGES};
use super::multicast::Sender;
use super::parameters::Parameters;
use super::publication::Publication;
use super::store::StoreWriter;
use super::table::{self, ClockReading, FinalTable};
use crate::immediate::Signal;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::memory::Memory;
use crate::scenario::case_protocol::{SideContext, Work};
use crate::scenario::engine::{Engine, TransferOffsets, failure};
use crate::scenario::phases::Phases;
use crate::scenario::thread_report::{ThreadMeasurement, ThreadWindow};
use crate::transport::Transport;

/// Interval in nanoseconds at which a thread checks for a new publication by thread 0 when the next one is overdue.
const OVERDUE_NANOS: u64 = 100_000;

/// Work of one trainer thread. The file with the versions exists until this value is dropped, which is after the last
/// step of all workers.
pub struct Trainer<'a> {
    serving: &'a ServingWorkload,
    publication: &'a Publication,
    phases: Option<&'a Phases>,
    /// Index of this thread's flow.
    flow: usize,
    is_publisher: bool,
    version_sink: VersionSink,
    /// Number of published versions when each of the worker's posts arrived.
    receipts: Vec<u64>,
}

/// How this thread delivers versions.
enum VersionSink {
    /// Another thread delivers them.
    Other,
    /// This thread writes them to a file.
    File(StoreWriter, Parameters),
    /// This thread sends them to a multicast group.
    Group(Sender, Parameters),
    /// This thread writes them into the worker's memory. `next` is the first version that has not been sent.
    Write {
        parameters: Parameters,
        prepared: Option<u64>,
        in_flight: Option<u64>,
        next: u64,
    },
    /// This thread creates them in its own memory, from which the worker reads. `offered` is the number of versions
    /// that the worker can read so far.
    Offer { parameters: Parameters, offered: u64 },
}

impl<'a> Trainer<'a> {
    /// Creates the work of one thread. The first thread of the first flow publishes the versions.
    pub fn new(serving: &'a ServingWorkload, publication: &'a Publication, side: SideContext<'a>) -> Self {
        Self {
            serving,
            publication,
            phases: side.phases,
            flow: side.flow,
            is_publisher: (side.flow, side.thread) == (0, 0),
            version_sink: VersionSink::Other,
            receipts: Vec::with_capacity(serving.max_posts() as usize),
        }
    }

    /// Opens the version sink and creates the bytes of the first version.
    fn open<T: Transport>(&mut self, engine: &Engine<'_, T>) -> Result<(), CaseFailure> {
        let (size, key) = (engine.geometry.size, self.publication.key());
        let mut parameters = Parameters::new(key, size);
        self.version_sink = match &self.serving.delivery {
            Delivery::Filesystem { directory } if self.is_publisher => {
                let writer = StoreWriter::create(Path::new(directory), &parameters, key);
                let mut writer = writer.map_err(|error| store_failure(directory, &error))?;
                writer.prepare(&mut parameters, 0);
                VersionSink::File(writer, parameters)
            }
            Delivery::Multicast(delivery) if self.is_publisher => {
                let sender = Sender::open(delivery, &parameters, key).map_err(|error| socket_failure(&error));
                let mut sender = sender?;
                sender.prepare(&mut parameters, 0);
                VersionSink::Group(sender, parameters)
            }
            Delivery::Filesystem { .. } | Delivery::Multicast(_) => VersionSink::Other,
            Delivery::Push => {
                let memory = engine.memory()?;
                create_version(&memory, engine, &mut parameters, 0)?;
                VersionSink::Write {
                    parameters,
                    prepared: Some(0),
                    in_flight: None,
                    next: 0,
                }
            }
            Delivery::Pull => {
                let memory = engine.memory()?;
                create_version(&memory, engine, &mut parameters, 0)?;
                table::write_words(&memory, head_offset(engine), &[0])?;
                VersionSink::Offer {
                    parameters,
                    offered: 0,
                }
            }
        };
        Ok(())
    }

    /// Publishes the next version if it is due, or ends publishing.
    fn publish(&mut self, start: u64, now: u64) -> Result<(), CaseFailure> {
        if !self.is_publisher || self.publication.has_ended() {
            return Ok(());
        }
        let published = self.publication.published_count();
        let is_due = now >= self.due_at(start, published);
        let is_complete = published == u64::from(self.serving.max_version) && is_due;
        if is_complete || now.saturating_sub(start) >= self.serving.max_time_nanos {
            self.publication.end();
            return Ok(());
        }
        // Versions are sent to the group one after another, just as they are written to a file.
        let is_busy = matches!(&self.version_sink, VersionSink::Group(sender, _) if sender.is_busy());
        if !is_due || is_busy {
            return Ok(());
        }
        self.publication.publish(now);
        match &mut self.version_sink {
            VersionSink::File(writer, parameters) => {
                let Delivery::Filesystem { directory } = &self.serving.delivery else {
                    return Ok(());
                };
                writer
                    .publish()
                    .map_err(|error| store_failure(directory, &error))?;
                self.publication
                    .record_delivery(self.flow, published, clock::now());
                if published + 1 < u64::from(self.serving.max_version) {
                    writer.prepare(parameters, published + 1);
                }
            }
            VersionSink::Group(sender, _) => sender.start(published, now),
            VersionSink::Other | VersionSink::Write { .. } | VersionSink::Offer { .. } => {}
        }
        Ok(())
    }

    /// Time at which `version` is due.
    fn due_at(&self, start: u64, version: u64) -> u64 {
        start.saturating_add(self.serving.push_nanos.saturating_mul(version))
    }

    /// Continues to deliver versions. Returns whether a delivery is in progress.
    fn deliver<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        memory: &Memory,
    ) -> Result<bool, CaseFailure> {
        let (publication, flow) = (self.publication, self.flow);
        let max_version = u64::from(self.serving.max_version);
        match &mut self.version_sink {
            VersionSink::Other | VersionSink::File(..) => Ok(false),
            VersionSink::Group(sender, parameters) => {
                let sent = sender
                    .advance(clock::now())
                    .map_err(|error| socket_failure(&error))?;
                publication.record_datagrams(sent.datagrams);
                if let Some(version) = sent.finished {
                    publication.record_delivery(flow, version, clock::now());
                    if version + 1 < max_version {
                        sender.prepare(parameters, version + 1);
                    }
                }
                Ok(sender.is_busy())
            }
            VersionSink::Write {
                parameters,
                prepared,
                in_flight,
                next,
            } => {
                if let Some(version) = *in_flight {
                    if engine.outgoing.in_flight() > 0 {
                        return Ok(true);
                    }
                    publication.record_delivery(flow, version, clock::now());
                    engine.signal(Signal::Version(version))?;
                    *in_flight = None;
                }
                let published = publication.published_count();
                if published > *next && !publication.has_ended() {
                    // A worker that is still receiving an older version gets the latest one next.
                    let version = published - 1;
                    if *prepared != Some(version) {
                        create_version(memory, engine, parameters, version)?;
                    }
                    let slot = ServingWorkload::slot_offset(version, engine.geometry.size);
                    let landing = engine.geometry.landing_base + slot;
                    engine.post_at(TransferOffsets {
                        source: slot,
                        landing,
                    })?;
                    (*prepared, *in_flight, *next) = (None, Some(version), version + 1);
                } else if published < max_version && *prepared != Some(published) {
                    create_version(memory, engine, parameters, published)?;
                    *prepared = Some(published);
                }
                Ok(in_flight.is_some())
            }
            VersionSink::Offer { parameters, offered } => {
                let published = publication.published_count();
                if published > *offered {
                    if published > *offered + 1 {
                        // This thread has missed a publication, so the latest version is not in memory yet.
                        create_version(memory, engine, parameters, published - 1)?;
                    }
                    table::write_words(memory, head_offset(engine), &[published])?;
                    *offered = published;
                    if published < max_version {
                        create_version(memory, engine, parameters, published)?;
                    }
                }
                Ok(false)
            }
        }
    }

    /// In the many-to-many pattern, waits until the windows of all flows are open, so that all workers see all
    /// versions.
    fn await_all_flows<T: Transport>(&self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let Some(phases) = self.phases else {
            return Ok(());
        };
        // A sleeping thread would not notice the commands, because no completion wakes it.
        engine.awake = true;
        phases.mark_ready();
        engine.serve_until("waiting for all flows to be ready", |_| phases.may_start())?;
        phases.mark_active();
        engine.serve_until("waiting for all flows to be active", |_| phases.may_measure())?;
        engine.awake = false;
        Ok(())
    }

    /// In the many-to-many pattern, waits until the workers of all flows have finished their steps. Until then, the
    /// workers may read this thread's file.
    fn await_last_steps<T: Transport>(&self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let Some(phases) = self.phases else {
            return Ok(());
        };
        engine.awake = true;
        phases.mark_measured();
        engine.serve_until("waiting for the last step of all flows", |_| phases.must_finish())?;
        engine.awake = false;
        Ok(())
    }

    fn record_posts<T: Transport>(&mut self, engine: &Engine<'_, T>) {
        while (self.receipts.len() as u64) < engine.inbox.version_posts {
            self.receipts.push(self.publication.published_count());
        }
    }

    /// Answers the worker's requests for clock readings, until the worker has sent `total` requests.
    fn answer_clock_requests<T: Transport>(
        &self,
        engine: &mut Engine<'_, T>,
        memory: &Memory,
        total: u64,
    ) -> Result<(), CaseFailure> {
        let table = ServingWorkload::table_offset(engine.geometry.size);
        let boot = clock_offset::boot_number();
        for answered in total - EXCHANGES..total {
            engine.serve_until("waiting for a clock request from the worker", |engine| {
                engine.inbox.clock_requests > answered
            })?;
            let reading = ClockReading {
                nanos: clock::now(),
                boot,
                key: self.publication.key(),
            };
            reading.store(memory, table)?;
            write_table(engine, table::CLOCK, table::CLOCK_BYTES)?;
            engine.signal(Signal::ClockReady)?;
        }
        Ok(())
    }
}

/// Offset of the value that holds the number of versions that this thread offers.
fn head_offset<T: Transport>(engine: &Engine<'_, T>) -> u64 {
    ServingWorkload::table_offset(engine.geometry.size) + table::HEAD
}

/// Creates the bytes of `version` in the version's slot in the source area.
fn create_version<T: Transport>(
    memory: &Memory,
    engine: &Engine<'_, T>,
    parameters: &mut Parameters,
    version: u64,
) -> Result<(), CaseFailure> {
    let slot = ServingWorkload::slot_offset(version, engine.geometry.size) as usize;
    parameters
        .create(version, |offset, bytes| memory.write_from(slot + offset, bytes))
        .map_err(CaseFailure::from)
}

/// Writes `length` bytes of this side's table, from `offset`, into the worker's table.
fn write_table<T: Transport>(
    engine: &mut Engine<'_, T>,
    offset: u64,
    length: u64,
) -> Result<(), CaseFailure> {
    let source = ServingWorkload::table_offset(engine.geometry.size) + offset;
    let landing = engine.geometry.landing_base + source;
    engine.post_bytes(
        TransferOperation::Write,
        TransferOffsets { source, landing },
        length,
    )?;
    engine.serve_until("waiting for the table to be written", |engine| {
        engine.outgoing.in_flight() == 0
    })
}

fn store_failure(directory: &str, error: &io::Error) -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        format!(
            "the parameters cannot be written to {directory} (parameterServing.directory): {error}; use a directory that \
             the trainer can write and all workers can read"
        ),
    )
}

fn socket_failure(error: &io::Error) -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        format!(
            "the datagrams cannot be sent (parameterServing.multicast): {error}; use an interface and a group that this \
             worker's network can reach"
        ),
    )
}

impl<T: Transport> Work<T> for Trainer<'_> {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        self.open(engine)?;
        if self.is_publisher {
            self.publication.set_ready();
        }
        // A worker opens the file as soon as it has read the clock.
        engine.serve_until(
            "waiting for the file or socket that delivers the versions",
            |_| self.publication.is_ready(),
        )?;
        let memory = engine.memory()?;
        self.answer_clock_requests(engine, &memory, EXCHANGES)
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let memory = engine.memory()?;
        self.await_all_flows(engine)?;
        if self.is_publisher {
            self.publication.start_at(clock::now());
        }
        engine.serve_until("waiting for the first version", |_| {
            self.publication.start().is_some()
        })?;
        let start = self.publication.start().unwrap_or_default();
        loop {
            let polled = engine.poll()?;
            self.record_posts(engine);
            self.publish(start, clock::now())?;
            let delivers = self.deliver(engine, &memory)?;
            if self.publication.has_ended() && !delivers {
                break;
            }
            if polled {
                continue;
            }
            if delivers {
                engine.idle("delivering a version")?;
            } else {
                let now = clock::now();
                let next = self.due_at(start, self.publication.published_count());
                let end = start.saturating_add(self.serving.max_time_nanos);
                engine.idle_until(
                    "serving parameters",
                    next.min(end)
                        .max(now + OVERDUE_NANOS.min(self.serving.push_nanos)),
                )?;
            }
        }
        engine.signal(Signal::ServingEnd)?;
        loop {
            self.record_posts(engine);
            if engine.inbox.steps_ended == Some(self.receipts.len() as u64) {
                break;
            }
            if !engine.poll()? {
                engine.idle("waiting for the worker's last post")?;
            }
        }
        let end = clock::now();
        self.await_last_steps(engine)?;
        self.answer_clock_requests(engine, &memory, 2 * EXCHANGES)?;
        let table = FinalTable {
            times: self.publication.times().collect(),
            receipts: std::mem::take(&mut self.receipts),
            datagrams: self.publication.datagrams(),
        };
        let offset = ServingWorkload::table_offset(engine.geometry.size);
        let length = table.store(&memory, offset)?;
        write_table(engine, table::FINAL, length)?;
        engine.signal(Signal::TableReady)?;
        let nothing = Recorder::new(Extent::Iterations(0));
        Ok(Some(ThreadMeasurement {
            // A trainer's flows deliver the same versions, so they have no separate rates.
            window: self.phases.map(|_| ThreadWindow {
                opened: start,
                closed: end,
                operations: 0,
            }),
            ..ThreadMeasurement::new(0, start, end, nothing)
        }))
    }
}
