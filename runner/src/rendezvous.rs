//! The rendezvous of the workers: rank 0 listens, the other ranks connect, and all other connections are refused. Uses
//! TCP.
//!
//! Every message carries the run, plan, leg and attempt it belongs to, and the rank of its sender. A connection that does
//! not belong to the attempt is answered with the reason ([`Refusal`]), counted and closed; the rendezvous continues.
//!
//! - [`message`]: message types;
//! - [`admission`]: the decision which peers are admitted (pure);
//! - [`coordinator`]: the side of rank 0, until all peers have joined;
//! - [`peer`]: the side of the other ranks, until they are admitted;
//! - [`link`]: connections between admitted workers.

pub mod admission;
pub mod coordinator;
pub mod link;
pub mod message;
pub mod peer;

pub use message::Refusal;

#[cfg(test)]
mod tests;
