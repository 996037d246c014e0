//! The heart of every run, the same on a cluster and on one machine. Synchronous and pure: no client, clock, socket
//! or environment.

pub mod collect;
pub mod compare;
mod distribution;
mod evaluate;
pub mod figures;
pub mod plan;
pub mod plan_check;
pub mod posting;
pub mod status;
pub mod summarize;
pub mod validate;

pub use distribution::Distribution;
pub use evaluate::{Evaluation, Overall, evaluate};
