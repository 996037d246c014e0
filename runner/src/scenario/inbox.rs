//! Signals received from the other side in a case. Pure.

use crds::record::FailureReason;

use super::immediate::Signal;

/// Signals received from the other side so far.
#[derive(Debug, Default)]
pub struct Inbox {
    /// The other side has started the case and needs this many messages on each rail to drain its receives.
    pub ready: Option<u64>,
    /// The receives of the other side are those of the case.
    pub receives_ready: bool,
    /// The initiator's warm-up has drained.
    pub start: bool,
    /// The target's window is open.
    pub started: bool,
    /// The initiator's window is closed.
    pub stop: bool,
    /// The target's window is closed.
    pub stopped: bool,
    /// Number of groups that the other side has prepared.
    pub prepared: u64,
    /// Number of groups that the other side has posted.
    pub posted: u64,
    /// Reason for which the other side has abandoned the case.
    pub aborted: Option<FailureReason>,
    /// Drain messages received on each rail.
    pub drained_receives: Box<[u32]>,
}

impl Inbox {
    /// Creates an empty inbox for `rails` rails.
    pub fn new(rails: usize) -> Self {
        Self {
            drained_receives: vec![0; rails].into(),
            ..Self::default()
        }
    }

    /// Records a signal.
    pub fn record(&mut self, signal: Signal) {
        match signal {
            Signal::Ready(drain_messages) => self.ready = Some(drain_messages),
            Signal::ReceivesReady => self.receives_ready = true,
            Signal::Start => self.start = true,
            Signal::Started => self.started = true,
            Signal::Stop => self.stop = true,
            Signal::Stopped => self.stopped = true,
            Signal::Prepared => self.prepared += 1,
            Signal::Posted => self.posted += 1,
            Signal::Abort(reason) => self.aborted = Some(reason),
        }
    }
}
