//! The sides of a ping-pong.

use crds::assignment::PingPongWorkload;
use crds::record::CaseFailure;

use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::scenario::budget::Budget;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::Engine;
use crate::scenario::thread_report::ThreadMeasurement;
use crate::transport::Transport;

/// Side that posts first.
#[derive(Debug)]
pub struct Initiator {
    workload: PingPongWorkload,
    recorder: Option<Recorder>,
}

/// Side that echoes the messages.
#[derive(Debug)]
pub struct Target;

impl Initiator {
    /// Creates the initiator and allocates the memory for its samples.
    pub fn new(workload: &PingPongWorkload) -> Self {
        Self {
            recorder: Some(Recorder::new(workload.measured)),
            workload: workload.clone(),
        }
    }

    /// Runs as many round trips as `budget` allows. The first one starts at `start`. Returns their number and the end
    /// time of the last round trip.
    fn run_round_trips<T: Transport>(
        engine: &mut Engine<'_, T>,
        mut budget: Budget,
        mut start: u64,
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(u64, u64), CaseFailure> {
        let mut count = 0;
        while budget.available(1, start) > 0 {
            budget.spend(1);
            post_message(engine)?;
            let posted = engine.outgoing.posted();
            while engine.incoming.arrived() < posted {
                if !engine.poll()? {
                    engine.idle("waiting for the echo of a message")?;
                }
            }
            let end = clock::now();
            count += 1;
            if let Some(recorder) = &mut recorder {
                recorder.record((end - start) / 2);
            }
            start = end;
        }
        Ok((count, start))
    }
}

/// Posts a message as soon as a slot is free.
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
        Self::run_round_trips(engine, Budget::new(self.workload.warmup, now), now, None)?;
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let first_post = clock::now();
        let budget = Budget::new(self.workload.measured, first_post);
        let mut recorder = self.recorder.take();
        let (operations, last_completion) =
            Self::run_round_trips(engine, budget, first_post, recorder.as_mut())?;
        Ok(
            recorder
                .map(|recorder| ThreadMeasurement::new(operations, first_post, last_completion, recorder)),
        )
    }
}

/// The target reports no operations, because its echoes are part of the initiator's round trips.
impl<T: Transport> Work<T> for Target {
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        activity: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        while !until(engine) {
            if engine.incoming.arrived() > engine.outgoing.posted() {
                post_message(engine)?;
            } else if !engine.poll()? {
                engine.idle(activity)?;
            }
        }
        Ok(())
    }
}
