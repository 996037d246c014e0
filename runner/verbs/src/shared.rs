//! State that the rails of a transport share.

use crate::rules::address::RailAddress;

/// What the rails of a transport share.
#[derive(Debug)]
pub struct Shared {
    /// Rank of this worker. Its peers use this rank to select the queue pairs for this worker.
    pub(crate) rank: u32,
    /// Address of each rail.
    pub(crate) addresses: Vec<RailAddress>,
    /// Index of each rail's source address in the GID table of its port.
    pub(crate) gid_indexes: Vec<u8>,
}
