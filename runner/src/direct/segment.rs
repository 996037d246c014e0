//! Batches of requests to another machine's segment, using the Transfer Engine Benchmark's roles and flags: `target` on
//! one machine and `initiator` on the other.
//!
//! The target allocates and registers its segment in an instrument process, publishes it and waits. Each initiator
//! opens a session, in which both sides start new instrument processes, as in every measurement. The target deregisters
//! its own segment before a session and registers it again afterwards, so that its memory is never allocated twice.
//!
//! [`target`], [`initiator`], [`memory`], [`registered`] and [`metadata`] perform I/O. The other modules do not.

mod assignment;
pub mod bounds;
pub mod flags;
pub mod initiator;
mod memory;
pub mod metadata;
mod registered;
pub mod target;

/// Name of the run and of its scenario.
const NAME: &str = "segment-transfer";
