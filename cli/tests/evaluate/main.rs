//! Tests of the evaluation, from records to verdicts. The streams have the format that the runner writes, contain
//! planted effects, faults and false claims, and are processed like the streams of real workers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "an invalid fixture fails the test"
)]

mod browser;
mod collecting;
mod comparing;
mod factors;
mod fixture;
mod forged;
mod hidden_characters;
mod imported;
mod openmetrics;
mod recorded;
mod reporting;
mod runs;
mod settled;
mod status_check;
mod summarizing;
