//! Posting policy: selects the call and the rail for every post, and decides whether the post rings the doorbell. The
//! policy is implemented on top of the transport trait, so the same code works with every library and can be tested
//! without one.
//!
//! [`striping`] assigns a rail to every chunk, [`burst`] marks the last post of a burst on each rail, [`doorbell`] and
//! [`inject`] decide how to post, and [`Posting`] posts and counts each chunk. Performs no I/O except for the posts.
//! The caller must wait for queue space.

pub mod burst;
pub mod counters;
pub mod doorbell;
pub mod evidence;
pub mod inject;
mod post;
pub mod striping;

pub use burst::{Burst, PlannedPost};
pub use post::{PostPath, Posting};
