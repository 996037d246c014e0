//! Parses the bytes of record streams into verified records, in order, accepting each block only once. Performs no I/O.
//!
//! A stream starts with the hello record of rank 0 as line 0. The input may be a concatenation of streams: streams of
//! different legs, streams of several attempts of a leg, or one stream that was read again after a restart. The longest
//! verified prefix of each stream is used; the rest is reported as a [`Fault`]. A block is taken from the first attempt
//! in which its `block` record is verified and every arm that the plan assigns to the block has a record. In a stage
//! after the first, a block may omit arms. An attempt that measures all arms of this block and others replaces it.
//!
//! Claim records, which the operator writes, are streams of a single line. They may stand between any two lines of another
//! stream.

mod case;
mod collector;
mod expected;
mod fault;
pub mod framing;
mod oversized;
mod reports;

pub use case::Case;
pub use collector::Collector;
pub use fault::{BlockFault, Fault, FaultKind, RefusedStream};
pub use reports::{FromStream, MAX_CONFIGURATIONS, MAX_FAULTS, MAX_WARNINGS, Reports, Stream};

use crate::plan::HashedPlan;

/// Reads `bytes`, which contain one or more streams of the run with UID `uid` and plan `plan`.
///
/// Never fails: unusable input is reported as a [`Fault`], and the verified records before it are used.
pub fn collect(plan: &HashedPlan, uid: &str, bytes: &[u8]) -> Reports {
    let mut collector = Collector::new(plan, uid);
    collector.feed(bytes);
    collector.finish()
}
