//! Many transfers in flight, from the initiator to the target or both ways.
//!
//! A thread keeps a window of transfers in flight and posts them in bursts, each burst as soon as there are free slots
//! for all of it. The timed region of a sample begins before the first chunk of the transfer is posted and ends at the
//! poll that saw the transfer complete:
//!
//! - `Write`: the completion of each chunk was read, which says that the data is in the target's memory. It is never
//!   injected, for an injected write says nobody when it has arrived;
//! - `Read`: the completion of each chunk was read;
//! - `Send`, `WriteImmediate`: the target's credit covers the transfer, and own completions were read. The target
//!   tells its count of arrived transfers every half window, so a sample contains the wait for the next credit, up to
//!   half a window of transfers, and a window of 1 is timed one by one. At the end the initiator asks to be told at
//!   once: the last message of the timed region.
//!
//! The window of the case lasts from the first post of any thread to the last completion of any: throughput is
//! payload by that time.

use crds::assignment::{Extent, TransferWorkload};
use crds::record::CaseFailure;

use super::case_protocol::{Budget, Done, Work};
use super::engine::Engine;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::transport::Transport;

/// One thread of a side that posts.
#[derive(Debug)]
pub struct Poster {
    workload: TransferWorkload,
    recorder: Option<Recorder>,
}

/// One thread of a side that is only addressed.
#[derive(Debug)]
pub struct Addressed;

impl Poster {
    /// A thread whose memory for samples is made here.
    pub fn new(workload: &TransferWorkload) -> Self {
        Self {
            recorder: Some(Recorder::new(workload.measured)),
            workload: workload.clone(),
        }
    }
}

/// Posts transfers, as many as `extent` allows from `now` on, and returns when all are complete.
pub(crate) fn transfers<T: Transport>(
    engine: &mut Engine<'_, T>,
    extent: Extent,
    now: u64,
) -> Result<(), CaseFailure> {
    let mut budget = Budget::new(extent, now);
    let mut draining = false;
    loop {
        while !draining {
            let burst = budget.may_begin(engine.geometry.batch, engine.outgoing.latest());
            if burst == 0 {
                draining = true;
                if engine.geometry.needs_credit() && engine.outgoing.in_flight() > 0 {
                    engine.ask_drain()?;
                }
                break;
            }
            if engine.outgoing.free() < burst as usize {
                break;
            }
            engine.post_burst(burst)?;
            budget.begun(burst);
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
        transfers(engine, self.workload.warmup, clock::now())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<Done>, CaseFailure> {
        let before = engine.outgoing.completed();
        engine.outgoing.set_recorder(self.recorder.take());
        let first_post = clock::now();
        transfers(engine, self.workload.measured, first_post)?;
        let recorder = engine.outgoing.set_recorder(None);
        Ok(recorder.map(|recorder| Done {
            operations: engine.outgoing.completed() - before,
            first_post,
            last_completion: engine.outgoing.last_completion().max(first_post),
            recorder,
        }))
    }
}

impl<T: Transport> Work<T> for Addressed {}
