//! Whether the bytes that arrived are those that were sent: a seeded pattern, checked byte by byte, outside any
//! timing. Copies memory, does no other I/O.
//!
//! Every byte of every transfer is a function of seed, transfer and offset ([`pattern`]), so a chunk in the wrong
//! place is found as surely as a flipped bit. What will be landed on is poisoned first with a byte that no pattern
//! contains, so a chunk that was not, or only partly, written when its transfer counted as complete is told apart
//! from one that was written wrongly. Duplicates are found by the immediate data of the chunks.

mod combine;
pub mod pattern;
mod verifier;

pub use combine::combine;
pub use verifier::{Inspector, Verifier};
pub(crate) use verifier::{fill, poison};
