//! Completions that a rail reports.

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A post completed.
    Posted {
        /// Token of the post.
        token: u32,
    },
    /// A message arrived.
    Received {
        /// Token of the receive.
        token: u32,
        /// Immediate data, if the message has any.
        immediate: Option<u32>,
        /// Length in bytes.
        length: u32,
    },
    /// A write with immediate data arrived.
    RemoteWrite {
        /// Immediate data.
        immediate: u32,
    },
}
