//! A host's payload, in its own memory or in shared memory.

use std::sync::Arc;

use crds::record::CaseFailure;
use crds::v1alpha1::MemoryKind;

use super::calls::Payload;
use super::message::PayloadPassing;
use crate::integrity::{fill, pattern};
use crate::memory::{Memory, available};

/// Payload that a host passes to its extensions.
pub enum Arguments {
    /// Bytes that a message contains.
    Bytes(Vec<u8>),
    /// Shared memory whose descriptor accompanies a message.
    Shared(Arc<Memory>),
}

impl Arguments {
    /// Allocates a payload of `bytes` bytes.
    ///
    /// # Errors
    /// Returns an error if the memory is not available.
    pub fn allocate(passing: PayloadPassing, bytes: u64) -> Result<Self, CaseFailure> {
        Ok(match passing {
            PayloadPassing::Copy => Self::Bytes(available::touched_bytes(bytes)?),
            PayloadPassing::Map => Self::Shared(Memory::allocate(MemoryKind::SharedMemory, bytes as usize)?),
        })
    }

    /// Returns the payload for a message.
    pub fn payload(&self) -> Payload<'_> {
        match self {
            Self::Bytes(bytes) => Payload::Bytes(bytes),
            Self::Shared(memory) => Payload::Shared(memory),
        }
    }

    /// Returns the shared memory; `None` if a message contains the bytes.
    pub fn shared(&self) -> Option<&Memory> {
        match self {
            Self::Bytes(_) => None,
            Self::Shared(memory) => Some(memory),
        }
    }

    /// Fills the payload with the pattern of transfer `transfer`.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be accessed.
    pub fn fill(&mut self, seed: u64, transfer: u64) -> Result<(), CaseFailure> {
        match self {
            Self::Bytes(bytes) => {
                pattern::fill(seed, transfer, 0, bytes);
                Ok(())
            }
            Self::Shared(memory) => fill(memory, 0, seed, transfer, memory.length() as u64),
        }
    }
}
