//! Where the workers meet: rank 0 listens, the others connect, and no one else gets in. Uses TCP.
//!
//! Every message says which run, plan, leg and attempt it belongs to and which rank sends it. Whoever does not belong
//! here is told why ([`Refusal`]), counted and forgotten; the meeting goes on.
//!
//! - [`message`]: what is said;
//! - [`admission`]: who may come in (pure);
//! - [`coordinator`]: the side of rank 0, until all are there;
//! - [`peer`]: the side of the others, until they are let in;
//! - [`link`]: a connection after that.

pub mod admission;
pub mod coordinator;
pub mod link;
pub mod message;
pub mod peer;

pub use message::Refusal;

#[cfg(test)]
mod tests;
