//! `Multicast` mode datagrams: the trainer divides each version into numbered datagrams, and each worker assembles them
//! and determines exactly which ones did not arrive. Lost datagrams are not retransmitted.
//!
//! ```text
//! 0 case key   8 version   16 index   20 datagram count of the version   24 payload …
//! ```

mod address;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

/// Length of a datagram header, in bytes.
const HEADER_BYTES: usize = 24;
/// Number of datagrams that are sent or received before the thread does other work.
const BURST: u32 = 32;

/// Number of datagrams for a version of `size` bytes.
fn datagram_count(size: usize, payload: usize) -> u64 {
    size.div_ceil(payload) as u64
}

#[cfg(test)]
mod tests;
