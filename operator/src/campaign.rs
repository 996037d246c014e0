//! The heart of every run, the same on a cluster and on one machine. Synchronous and pure: no client, clock, socket
//! or environment.

pub mod compare;
pub mod plan;
