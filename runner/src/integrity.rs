//! Verifies, outside timed regions, that every byte of the received payload matches the payload that was sent. Copies
//! memory, but performs no I/O.
//!
//! Every byte of every transfer is a function of the seed, the transfer and the offset ([`pattern`]), so a misplaced
//! chunk is detected as reliably as a flipped bit. Landing memory, which receives the payload, is first filled with a
//! poison byte that no pattern contains. The poison distinguishes a chunk that was written incorrectly from a chunk
//! that had not been completely written when its transfer was reported as complete. Duplicate chunks are detected by
//! their immediate data.

mod combine;
pub mod pattern;
mod verifier;

pub use combine::combine;
pub use verifier::{Inspector, Verifier};
pub(crate) use verifier::{fill, poison};
