//! Tests of complete attempts with runner processes on this machine, over real transports.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test panics on an unexpected result"
)]

mod session {
    pub mod gang;
    pub mod plan;

    mod complete;
    mod interrupted;
    mod lost;
    mod refused;
    mod threads;
}
