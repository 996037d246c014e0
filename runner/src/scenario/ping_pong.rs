//! One message there and back again, one at a time.
//!
//! The initiator posts a message of the case's size with immediate data; the target, when every chunk of it has
//! arrived, posts one of the same size back by the same policy. The timed region of a sample begins before the first
//! chunk is posted and ends when the last chunk of the echo has arrived, and the sample is half of that: one way,
//! without clocks that agree. An injected message is timed in the same way and never ends at the return of the call,
//! which would be the time of a copy. Completions of own posts are read when they come and waited for by nobody,
//! unless the memory of the message before the last few is not free yet.

use crds::assignment::PingPongWorkload;
use crds::record::CaseFailure;

use super::case_protocol::{Budget, Done, Work};
use super::engine::Engine;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::transport::Transport;

/// The side that posts first.
#[derive(Debug)]
pub struct Initiator {
    workload: PingPongWorkload,
    recorder: Option<Recorder>,
}

/// The side that answers.
#[derive(Debug)]
pub struct Target;

impl Initiator {
    /// A ping-pong whose memory for samples is made here.
    pub fn new(workload: &PingPongWorkload) -> Self {
        Self {
            recorder: Some(Recorder::new(workload.measured)),
            workload: workload.clone(),
        }
    }

    /// Round trips, as many as `budget` allows. Returns how many, and when the last one ended.
    fn round_trips<T: Transport>(
        engine: &mut Engine<'_, T>,
        mut budget: Budget,
        mut now: u64,
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(u64, u64), CaseFailure> {
        let mut count = 0;
        while budget.may_begin(1, now) > 0 {
            budget.begun(1);
            let begun = clock::now();
            post_message(engine)?;
            let posted = engine.outgoing.posted();
            while engine.incoming.arrived() < posted {
                if !engine.poll()? {
                    engine.idle("waiting for the echo of a message")?;
                }
            }
            now = clock::now();
            count += 1;
            if let Some(recorder) = &mut recorder {
                recorder.record((now - begun) / 2);
            }
        }
        Ok((count, now))
    }
}

/// Posts a message as soon as there is memory for it.
#[inline]
fn post_message<T: Transport>(engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
    while engine.outgoing.free() == 0 {
        if !engine.poll()? {
            engine.idle("waiting for the completion of an earlier message")?;
        }
    }
    engine.post_burst(1)
}

impl<T: Transport> Work<T> for Initiator {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let now = clock::now();
        Self::round_trips(engine, Budget::new(self.workload.warmup, now), now, None)?;
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<Done>, CaseFailure> {
        let first_post = clock::now();
        let budget = Budget::new(self.workload.measured, first_post);
        let mut recorder = self.recorder.take();
        let (operations, last_completion) = Self::round_trips(engine, budget, first_post, recorder.as_mut())?;
        Ok(recorder.map(|recorder| Done {
            operations,
            first_post,
            last_completion,
            recorder,
        }))
    }
}

/// The echoes are part of the initiator's operations.
impl<T: Transport> Work<T> for Target {
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        doing: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        while !until(engine) {
            if engine.incoming.arrived() > engine.outgoing.posted() {
                post_message(engine)?;
            } else if !engine.poll()? {
                engine.idle(doing)?;
            }
        }
        Ok(())
    }
}
