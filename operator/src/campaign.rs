//! The heart of every run, the same on a cluster and on one machine. Synchronous and pure: no client, clock, socket
//! or environment.

pub mod collect;
pub mod compare;
mod distribution;
mod evaluate;
pub mod figures;
pub mod plan;
pub mod status;
pub mod summarize;

pub use distribution::Distribution;
pub use evaluate::{Evaluation, Overall, evaluate};
