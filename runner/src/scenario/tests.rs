//! Cases between two ends in one process.

mod failures;
mod fixture;
mod integrity;
mod ping_pong;
mod polling;
mod transfer;
