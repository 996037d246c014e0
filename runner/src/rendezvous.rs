//! The rendezvous of the workers: rank 0 listens, the other ranks connect, and all other connections are rejected. Uses
//! TCP.
//!
//! Every message identifies the run, plan, leg and attempt that it belongs to, and the rank of its sender. If a
//! connection does not belong to the attempt, the coordinator sends the reason ([`Rejection`]), counts the rejection
//! and closes the connection. A rejection does not end the rendezvous.
//!
//! - [`message`]: message types;
//! - [`admission`]: decides which peers are admitted, without I/O;
//! - [`coordinator`]: rank 0's side of the rendezvous, until all peers have joined;
//! - [`peer`]: the other ranks' side of the rendezvous, until they are admitted;
//! - [`link`]: connections between admitted workers;
//! - [`server`] and [`proposal`]: a rendezvous of two workers in which rank 1 listens, and rank 0 connects to it.

pub mod admission;
pub(crate) mod connection_rails;
pub mod coordinator;
pub mod link;
pub mod message;
pub mod peer;
pub mod proposal;
pub mod server;

pub use message::Rejection;

#[cfg(test)]
mod tests;
