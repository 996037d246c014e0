//! Signals received from the other side in a case. Performs no I/O.

use crds::record::FailureReason;

use crate::immediate::Signal;

/// Signals received from the other side so far.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Number of messages that the other side needs on each rail to drain its receives; `None` until the other side has
    /// started the case.
    pub ready: Option<u64>,
    /// Whether the other side has drained the receives of earlier cases.
    pub receives_ready: bool,
    /// Whether the initiator's warm-up has drained.
    pub start: bool,
    /// Whether the target has opened its window.
    pub started: bool,
    /// Whether the initiator has sent `STOP`.
    pub stop: bool,
    /// Whether the target has closed its window.
    pub stopped: bool,
    /// Whether the other side has sampled the idle fabric.
    pub idle_sampled: bool,
    /// Whether transfers of all of the other side's threads have completed, while that side continues to post.
    pub active: bool,
    /// Whether the windows of all of the other side's threads have closed, while that side continues to post.
    pub measured: bool,
    /// Number of groups that the other side has prepared.
    pub prepared: u64,
    /// Number of groups that the other side has posted.
    pub posted: u64,
    /// Number of call replies without payload.
    pub call_replies: u64,
    /// Number of requests to read this side's clock.
    pub clock_requests: u64,
    /// Number of the other side's clock readings that are in this side's memory.
    pub clock_readings: u64,
    /// Latest version in this side's memory.
    pub version: Option<u64>,
    /// Number of posts by the worker.
    pub version_posts: u64,
    /// Whether the trainer has announced that it will publish no further versions.
    pub serving_ended: bool,
    /// Number of posts that the worker had sent by its last step; `None` before its last step.
    pub steps_ended: Option<u64>,
    /// Whether the publication times are in this side's memory.
    pub table_ready: bool,
    /// Why the other side abandoned the case; `None` if it has not abandoned the case.
    pub aborted: Option<FailureReason>,
    /// Number of drain messages received on each rail.
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
            Signal::IdleSampled => self.idle_sampled = true,
            Signal::Active => self.active = true,
            Signal::Measured => self.measured = true,
            Signal::Prepared => self.prepared += 1,
            Signal::Posted => self.posted += 1,
            Signal::ClockRequest => self.clock_requests += 1,
            Signal::ClockReady => self.clock_readings += 1,
            // Notifications can overtake each other.
            Signal::Version(version) => self.version = self.version.max(Some(version)),
            Signal::VersionPost => self.version_posts += 1,
            Signal::ServingEnd => self.serving_ended = true,
            Signal::StepsEnd(posts) => self.steps_ended = Some(posts),
            Signal::TableReady => self.table_ready = true,
            Signal::Abort(reason) => self.aborted = Some(reason),
        }
    }
}
