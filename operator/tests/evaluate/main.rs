//! Records to answers: streams are written as a runner writes them, with planted effects, faults and lies, and go
//! through the same path as those of real workers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a fixture that is not sound fails the test"
)]

mod browser;
mod collecting;
mod comparing;
mod fixture;
mod openmetrics;
mod reporting;
mod runs;
mod summarizing;
