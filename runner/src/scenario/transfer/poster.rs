//! The sides of transfers in one direction, and of an open loop in both.

use crds::assignment::{Extent, TransferWorkload, WorkloadProperties};
use crds::quantity::Observation;
use crds::record::CaseFailure;

use super::{flushed, open_loop, read_back};
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::scenario::budget::Budget;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::Engine;
use crate::scenario::observed::{Sampled, ThreadObservations};
use crate::scenario::schedule::Schedule;
use crate::scenario::thread_report::ThreadMeasurement;
use crate::transport::Transport;

/// Work of one thread on a side that posts.
#[derive(Debug)]
pub struct Poster {
    workload: TransferWorkload,
    recorder: Option<Recorder>,
    /// Intended start times of the measured transfers; `None` in a closed loop.
    schedule: Option<Schedule>,
    /// Durations of the flushes that follow the transfers; `None` if there are no flushes.
    flushes: Option<Recorder>,
    /// Latencies of the reads that follow the writes; `None` if there are no such reads.
    read_backs: Option<Recorder>,
    /// Duration of the first burst of the warm-up; `None` if it is not timed.
    first_burst_nanos: Option<u64>,
}

/// Work of one thread on a side that does not post.
#[derive(Debug)]
pub struct PassiveTarget;

impl Poster {
    /// Creates the work of one thread, and allocates the memory for its samples. In an open loop, equal seeds give
    /// equal start times.
    pub fn new(workload: &TransferWorkload, seed: u64) -> Self {
        Self {
            flushes: workload.is_flushed().then(|| Recorder::new(workload.measured)),
            recorder: Some(Recorder::new(workload.measured)),
            read_backs: workload.reads_back().then(|| Recorder::new(workload.measured)),
            first_burst_nanos: None,
            schedule: workload.open_loop.map(|load| Schedule::new(load, seed)),
            workload: workload.clone(),
        }
    }

    /// Runs the first burst, with the reads that may follow it, and records its duration. Returns what remains of
    /// `extent`.
    fn time_first_burst<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        extent: Extent,
    ) -> Result<Extent, CaseFailure> {
        let Extent::Iterations(count) = extent else {
            return Ok(extent);
        };
        let bursts = if self.workload.reads_back() { 2 } else { 1 };
        let first = count.min(bursts * engine.geometry.batch);
        let start = clock::now();
        self.run_unrecorded(engine, Extent::Iterations(first), start)?;
        self.first_burst_nanos = (first > 0).then(|| clock::now() - start);
        Ok(Extent::Iterations(count - first))
    }

    /// Runs transfers whose latencies are not recorded.
    fn run_unrecorded<T: Transport>(
        &self,
        engine: &mut Engine<'_, T>,
        extent: Extent,
        now: u64,
    ) -> Result<(), CaseFailure> {
        if self.workload.reads_back() {
            return read_back::run(engine, Budget::new(extent, now), None).map(|_| ());
        }
        run_transfers(engine, extent, now)
    }
}

/// Posts as many transfers as `extent` allows, starting at `now`. Returns when all transfers are complete and their data
/// is in the target's memory.
pub(super) fn run_transfers<T: Transport>(
    engine: &mut Engine<'_, T>,
    extent: Extent,
    now: u64,
) -> Result<(), CaseFailure> {
    let mut budget = Budget::new(extent, now);
    let mut draining = false;
    loop {
        while !draining {
            let burst = budget.available(engine.geometry.batch, engine.outgoing.latest());
            if burst == 0 {
                draining = true;
                // In a window of 1, a credit is due for every transfer even without a request. A request could arrive
                // before a large message has been checked, and overwrite the message if their receives share memory.
                let is_due_on_request = engine.geometry.needs_credit() && engine.geometry.window > 1;
                if is_due_on_request && engine.outgoing.in_flight() > 0 {
                    engine.request_credit()?;
                }
                break;
            }
            if engine.outgoing.free() < burst as usize {
                break;
            }
            engine.post_burst(burst)?;
            budget.spend(burst);
        }
        if draining && engine.outgoing.in_flight() == 0 {
            return engine.flush_writes();
        }
        if !engine.poll()? {
            engine.idle("waiting for transfers to complete")?;
        }
    }
}

impl<T: Transport> Work<T> for Poster {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let now = clock::now();
        if self.workload.is_flushed() {
            flushed::run(engine, Budget::new(self.workload.warmup, now), now, None)?;
            return Ok(());
        }
        let mut warmup = self.workload.warmup;
        if self.workload.has_segments() {
            warmup = self.time_first_burst(engine, warmup)?;
        }
        self.run_unrecorded(engine, warmup, now)
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let before = engine.outgoing.completed();
        let first_post = clock::now();
        let budget = Budget::new(self.workload.measured, first_post);
        let mut open_loop = None;
        let last_completion = match (&mut self.recorder, &mut self.flushes) {
            (Some(transfers), Some(flushes)) => {
                let recorders = flushed::Recorders { transfers, flushes };
                flushed::run(engine, budget, first_post, Some(recorders))?
            }
            (recorder, _) if self.workload.reads_back() => {
                let recorders = recorder
                    .take()
                    .zip(self.read_backs.take())
                    .map(|(writes, reads)| read_back::Recorders { writes, reads });
                let recorded = read_back::run(engine, budget, recorders)?;
                (*recorder, self.read_backs) = recorded.map_or((None, None), |recorded| {
                    (Some(recorded.writes), Some(recorded.reads))
                });
                engine.outgoing.last_completion().max(first_post)
            }
            (recorder, _) => {
                engine.outgoing.set_recorder(recorder.take());
                match self.schedule.take() {
                    Some(schedule) => {
                        open_loop = Some(open_loop::run(engine, budget, first_post, schedule)?);
                    }
                    None => run_transfers(engine, self.workload.measured, first_post)?,
                }
                *recorder = engine.outgoing.set_recorder(None);
                let flushed = engine.completes_writes_locally().then(clock::now);
                flushed.unwrap_or_else(|| engine.outgoing.last_completion().max(first_post))
            }
        };
        let operations = engine.outgoing.completed() - before;
        let mut observed = ThreadObservations::default();
        observed.add(Observation::Flush, self.flushes.take().map(Sampled::Durations));
        observed.add(
            Observation::ReadBack,
            self.read_backs.take().map(Sampled::Durations),
        );
        observed.add(
            Observation::FirstBurst,
            self.first_burst_nanos.map(Sampled::Nanos),
        );
        Ok(self.recorder.take().map(|recorder| ThreadMeasurement {
            open_loop,
            observed,
            ..ThreadMeasurement::new(operations, first_post, last_completion, recorder)
        }))
    }
}

impl<T: Transport> Work<T> for PassiveTarget {}
