//! Completions that a rail reports.

/// Completion of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) enum Event {
    /// A local post completed.
    Posted { token: u32 },
    /// A message arrived in a posted receive.
    Received { token: u32, immediate: u64, length: u64 },
    /// A peer's write with immediate data arrived.
    RemoteWrite { immediate: u64 },
}
