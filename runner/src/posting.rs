//! Posting policy: which call, which rail, which doorbell. It sits above the transport trait, so it is the same logic
//! for every library that can express it, and is tested without any.
//!
//! [`striping`] gives every chunk its rail, [`burst`] marks the last post of a burst on each rail, [`doorbell`] and
//! [`inject`] decide how a post is made, [`Posting`] makes it and counts. The only I/O is the posts themselves;
//! waiting for room is the caller's.

pub mod burst;
pub mod counters;
pub mod doorbell;
pub mod evidence;
pub mod inject;
mod post;
pub mod striping;

pub use burst::{Burst, PlannedPost};
pub use post::{Accepted, Posting};
