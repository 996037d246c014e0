//! Running one case: one scenario, size and arm between two workers.
//!
//! [`run_case`] is called at both sides, with the same case but for the role, and gives each side's report. It starts
//! a pinned thread for every endpoint set, which takes these steps together with its peer's (control messages are
//! small sends on rail 0, counted nowhere):
//!
//! 1. both say that they have begun the case, and use up receives that were posted for another one;
//! 2. warm-up, until everything is complete;
//! 3. `START` to the target, which reads its interface counters, opens its window and answers; the initiator opens its
//!    own and lets its threads post at once;
//! 4. the timed region: posts and polls, nothing else; no allocation, log, lock, await or look at a byte;
//! 5. when all threads have drained, the initiator closes its window and sends `STOP`; the target closes its own and
//!    answers; both read their interface counters again. With both sides posting, both close when both have drained.
//!
//! What the timed regions are, sample by sample, is said in [`ping_pong`] and [`transfer`]. Every wait is bounded by
//! the deadline of the case; a side that gives up tells the other. In an integrity pass there is no warm-up and no
//! window: the same posts are made and every byte is looked at (`integrity`).

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
