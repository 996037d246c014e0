//! Whole attempts: worker processes of this program, on this machine, over real transports.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod session {
    pub mod gang;
    pub mod plan;

    mod complete;
    mod interrupted;
    mod lost;
    mod refused;
}
