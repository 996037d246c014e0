//! Keeps many transfers in flight, from the initiator to the target or in both directions.
//!
//! A thread keeps a window of transfers in flight and posts them in bursts, each as soon as there is a free slot for
//! every transfer in the burst. A sample begins before the first chunk of the transfer is posted and ends at the poll
//! that observes that the transfer is complete:
//!
//! - `Write`: the completion of each chunk has been read, which means that the data is in the target's memory. Writes
//!   are never injected, because the arrival of an injected write cannot be observed.
//! - `Read`: the completion of each chunk has been read.
//! - `Send`, `WriteImmediate`: a credit from the target has confirmed the arrival of the transfer, and the completion
//!   of each chunk has been read. The target sends a credit every half window, so a sample includes the wait for the
//!   next credit, which lasts up to half a window of transfers. With a window of 1, every transfer is timed
//!   individually. At the end, the side that posts requests a final credit, which is the last message of the timed
//!   region.
//!
//! Throughput is the payload divided by the time from the first post of any thread to the last completion of any
//! thread.

use crds::assignment::{Extent, TransferWorkload};
use crds::record::CaseFailure;

use super::case_protocol::{Budget, ThreadMeasurement, Work};
use super::engine::Engine;
use super::open_loop;
use super::schedule::Schedule;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::transport::Transport;

/// Work of one thread on a side that posts.
#[derive(Debug)]
pub struct Poster {
    workload: TransferWorkload,
    recorder: Option<Recorder>,
    /// Intended start times of the measured transfers; `None` in a closed loop.
    schedule: Option<Schedule>,
}

/// Work of one thread on a side that does not post.
#[derive(Debug)]
pub struct PassiveTarget;

impl Poster {
    /// Creates the work of one thread and allocates the memory for its samples. Equal seeds give equal start times in an
    /// open loop.
    pub fn new(workload: &TransferWorkload, seed: u64) -> Self {
        Self {
            recorder: Some(Recorder::new(workload.measured)),
            schedule: workload.open_loop.map(|load| Schedule::new(load, seed)),
            workload: workload.clone(),
        }
    }
}

/// Posts as many transfers as `extent` allows, starting at `now`. Returns when all transfers are complete.
pub(crate) fn run_transfers<T: Transport>(
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
                if engine.geometry.needs_credit() && engine.outgoing.in_flight() > 0 {
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
            return Ok(());
        }
        if !engine.poll()? {
            engine.idle("waiting for transfers to complete")?;
        }
    }
}

impl<T: Transport> Work<T> for Poster {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        run_transfers(engine, self.workload.warmup, clock::now())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let before = engine.outgoing.completed();
        engine.outgoing.set_recorder(self.recorder.take());
        let first_post = clock::now();
        let open_loop = match self.schedule.take() {
            Some(schedule) => {
                let budget = Budget::new(self.workload.measured, first_post);
                Some(open_loop::run(engine, budget, first_post, schedule)?)
            }
            None => {
                run_transfers(engine, self.workload.measured, first_post)?;
                None
            }
        };
        let recorder = engine.outgoing.set_recorder(None);
        Ok(recorder.map(|recorder| ThreadMeasurement {
            operations: engine.outgoing.completed() - before,
            first_post,
            last_completion: engine.outgoing.last_completion().max(first_post),
            recorder,
            open_loop,
        }))
    }
}

impl<T: Transport> Work<T> for PassiveTarget {}
