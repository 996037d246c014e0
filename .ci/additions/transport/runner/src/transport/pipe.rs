//! The pipe transport: rails between two threads of one process, over queues behind locks.
//!
//! | module | purpose |
//! |---|---|
//! | `driver` | connects, registers, posts and polls on one rail |
//! | `inbox` | what the peers of a rail may do to it |

mod driver;
mod inbox;
#[cfg(test)]
mod tests;

use super::rail_set::RailSet;

/// Pipes of one arm on one worker.
pub type Pipe = RailSet<driver::Rail>;
