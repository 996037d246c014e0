//! What the other side has said in this case. Pure.

use crds::record::FailureReason;

use super::immediate::Signal;

/// Signals of the other side, as they stand.
#[derive(Debug, Default)]
pub struct Inbox {
    /// It has begun the case and wants so many messages on each rail to turn its receives over.
    pub ready: Option<u64>,
    /// Its receives are those of the case.
    pub met: bool,
    /// The initiator's warm-up has drained.
    pub start: bool,
    /// The target's window is open.
    pub started: bool,
    /// The initiator's window is closed.
    pub stop: bool,
    /// The target's window is closed.
    pub stopped: bool,
    /// Groups it has prepared.
    pub prepared: u64,
    /// Groups it has posted.
    pub posted: u64,
    /// It has given the case up.
    pub aborted: Option<FailureReason>,
    /// Turnover messages received on each rail.
    pub drained_receives: Box<[u32]>,
}

impl Inbox {
    /// Nothing was said yet, on `rails` rails.
    pub fn new(rails: usize) -> Self {
        Self {
            drained_receives: vec![0; rails].into(),
            ..Self::default()
        }
    }

    /// Takes a signal.
    pub fn take(&mut self, signal: Signal) {
        match signal {
            Signal::Ready(drain_messages) => self.ready = Some(drain_messages),
            Signal::Met => self.met = true,
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
