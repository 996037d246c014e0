//! Ping state of one thread in one case. Performs no I/O.

use crate::measure::recorder::Recorder;

/// Ping state of one thread in one case.
#[derive(Debug, Default)]
pub struct PingState {
    /// Samples; `None` while pings are not recorded.
    recorder: Option<Recorder>,
    /// Whether a ping is sent as soon as the previous one has returned.
    is_repeating: bool,
    /// Time at which the ping in flight was sent.
    sent_at: Option<u64>,
    /// Whether this side still has to reply to a ping from the other side.
    owes_reply: bool,
}

impl PingState {
    /// Whether a ping or a reply must be sent.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.owes_reply || (self.is_repeating && self.sent_at.is_none())
    }

    pub(super) fn owes_reply(&self) -> bool {
        self.owes_reply
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.sent_at.is_some()
    }

    pub(super) fn record_sent(&mut self, now: u64) {
        self.sent_at = Some(now);
    }

    pub(super) fn record_reply_sent(&mut self) {
        self.owes_reply = false;
    }

    /// Records that a ping from the other side arrived.
    pub(super) fn record_ping(&mut self) {
        self.owes_reply = true;
    }

    /// Records that the reply to the ping in flight arrived.
    pub(super) fn record_reply(&mut self, now: u64) {
        if let (Some(sent_at), Some(recorder)) = (self.sent_at.take(), &mut self.recorder) {
            recorder.record(now.saturating_sub(sent_at));
        }
    }

    /// Number of samples of the current recorder.
    pub(super) fn recorded(&self) -> u64 {
        self.recorder.as_ref().map_or(0, Recorder::count)
    }

    /// Starts recording samples.
    pub(super) fn record_into(&mut self, recorder: Option<Recorder>) {
        self.recorder = recorder;
    }

    /// Sends a ping as soon as the previous one has returned, until [`Self::stop_repeating`].
    pub(super) fn start_repeating(&mut self) {
        self.is_repeating = true;
    }

    /// Stops sending pings. The reply to the last one is still recorded.
    pub(super) fn stop_repeating(&mut self) {
        self.is_repeating = false;
    }

    /// Stops recording samples, and returns the recorder.
    pub(super) fn take_recorder(&mut self) -> Option<Recorder> {
        self.recorder.take()
    }
}
