//! Completions that a rail reports.

/// Decoded completion-queue entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) enum Event {
    /// A local post completed.
    Posted { token: u32 },
    /// A message arrived.
    Received {
        token: u32,
        immediate: Option<u64>,
        length: u64,
    },
    /// A peer's write with immediate data arrived.
    RemoteWrite { immediate: u64 },
}
