//! Running one case: one scenario, size and arm between two workers.
//!
//! Both sides call [`run_case`] with the same case except for the role, and each gets the report of its own side.
//! `run_case` starts one pinned thread per endpoint set. Each thread goes through these steps together with the
//! corresponding thread of the peer. Control messages are small sends on rail 0 that no counter includes.
//!
//! 1. Both sides announce that they have started the case and consume the receives posted for an earlier case.
//! 2. Warm-up, until all its operations are complete.
//! 3. The initiator sends `START`. The target reads its interface counters, opens its window and answers. The
//!    initiator then opens its own window and lets its threads post at once.
//! 4. The timed region: posts and polls only. It does not allocate, log, lock, await or inspect payload.
//! 5. When all its threads have drained, the initiator closes its window and sends `STOP`. The target closes its own
//!    window and answers, and both sides read their interface counters again. If both sides post, both close their
//!    windows after both have drained.
//!
//! [`ping_pong`] and [`transfer`] define the timed region of a sample. Every wait is bounded by the deadline of the
//! case, and a side that abandons the case notifies the other. An integrity pass has no warm-up and no window: it
//! makes the same posts and checks every byte (`integrity`).

mod case;
mod case_protocol;
mod check;
pub(crate) mod engine;
mod gate;
mod geometry;
pub(crate) mod immediate;
mod inbox;
mod incoming;
mod outgoing;
pub mod ping_pong;
mod probe;
mod report;
mod run;
pub mod transfer;
mod waiting;

pub use case::{Case, CaseReport, Outcome, Role};
pub use probe::probe;
pub use run::run_case;

#[cfg(test)]
mod tests;
