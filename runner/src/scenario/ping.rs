//! Pings are control messages. The other side replies to each of them at its next poll.
//!
//! One ping is in flight at a time. A sample is the round-trip time, measured by the sender. Pings that are sent during
//! transfers use the same endpoint, on the rail that carries control messages, so their delay shows how long a small
//! message waits behind the transfers (head-of-line blocking) compared with an idle fabric.

use crds::assignment::Extent;
use crds::quantity::Observation;
use crds::record::CaseFailure;

use super::engine::Engine;
use super::observed::{Sampled, ThreadObservations};
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::transport::Transport;

/// Number of pings before the samples on the idle fabric.
const WARMUP_PINGS: u32 = 100;
/// Maximum number of samples on the idle fabric: enough for a 99th percentile with ten samples above it.
const IDLE_PINGS: u32 = 1000;
/// Duration after which the idle fabric is no longer sampled.
const IDLE_NANOS: u64 = 200_000_000;
/// Number of samples during transfers after which no more transfers are needed: a 99th percentile that is not the
/// largest sample.
const LOADED_PINGS: u64 = 100;
/// Maximum time for which transfers continue after the window has closed, so that there are enough samples.
const LOADED_NANOS: u64 = 10_000_000_000;

/// Recorders for pings on the idle fabric and during transfers.
#[derive(Debug)]
pub struct PingRecorders {
    idle: Option<Recorder>,
    loaded: Option<Recorder>,
}

impl PingRecorders {
    /// Allocates memory for the samples.
    pub fn new() -> Self {
        Self {
            idle: Some(Recorder::new(Extent::Iterations(IDLE_PINGS))),
            // The number of these samples is not known in advance.
            loaded: Some(Recorder::new(Extent::DurationNanos(u64::MAX))),
        }
    }

    /// Samples pings while neither side sends transfers.
    ///
    /// # Errors
    /// Returns an error if a ping cannot be sent, or if its reply does not arrive before the deadline.
    pub fn measure_idle<T: Transport>(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        for _ in 0..WARMUP_PINGS {
            round_trip(engine)?;
        }
        engine.pings.record_into(self.idle.take());
        let end = clock::now().saturating_add(IDLE_NANOS);
        for _ in 0..IDLE_PINGS {
            if clock::now() >= end {
                break;
            }
            round_trip(engine)?;
        }
        self.idle = engine.pings.take_recorder();
        Ok(())
    }

    /// Starts sending pings during transfers.
    pub fn start<T: Transport>(&mut self, engine: &mut Engine<'_, T>) {
        engine.pings.record_into(self.loaded.take());
        engine.pings.start_repeating();
    }

    /// Whether there are enough samples during transfers, or no time is left to wait for more. `closed` is the time at
    /// which the window of the transfers closed.
    pub fn has_enough<T: Transport>(engine: &Engine<'_, T>, closed: u64) -> bool {
        engine.pings.recorded() >= LOADED_PINGS || clock::now() >= closed.saturating_add(LOADED_NANOS)
    }

    /// Stops sending pings. The reply to the last one is still recorded.
    pub fn pause<T: Transport>(engine: &mut Engine<'_, T>) {
        engine.pings.stop_repeating();
    }

    /// Stops sending pings, and waits for the reply to the last one.
    ///
    /// # Errors
    /// Returns an error if the reply does not arrive before the deadline.
    pub fn stop<T: Transport>(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        Self::pause(engine);
        wait_for_reply(engine)?;
        self.loaded = engine.pings.take_recorder();
        Ok(())
    }

    /// Adds the samples to the observations of the thread.
    pub fn report(self, observed: &mut ThreadObservations) {
        observed.add(Observation::PingIdle, self.idle.map(Sampled::Durations));
        observed.add(Observation::PingLoaded, self.loaded.map(Sampled::Durations));
    }
}

fn round_trip<T: Transport>(engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
    engine.send_ping()?;
    wait_for_reply(engine)
}

fn wait_for_reply<T: Transport>(engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
    engine.serve_until("waiting for the reply to a ping", |engine| {
        !engine.pings.is_in_flight()
    })
}
