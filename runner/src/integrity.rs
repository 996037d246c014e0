//! Verifies byte by byte that the received payload is the payload that was sent, outside any timed region. Copies
//! memory; does no other I/O.
//!
//! Every byte of every transfer is a function of seed, transfer and offset ([`pattern`]), so a misplaced chunk is
//! detected as reliably as a flipped bit. Landing memory is first poisoned with a byte that no pattern contains. This
//! distinguishes a chunk that was not, or only partly, written when its transfer counted as complete from a chunk that
//! was written incorrectly. The immediate data of the chunks reveals duplicates.

mod combine;
pub mod pattern;
mod verifier;

pub use combine::combine;
pub use verifier::{Inspector, Verifier};
pub(crate) use verifier::{fill, poison};
