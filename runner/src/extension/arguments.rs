//! A host's payload, in its own memory or in shared memory.

use std::sync::Arc;

use crds::record::CaseFailure;
use crds::v1alpha1::MemoryKind;

use super::calls::Payload;
use super::message::PayloadPassing;
use crate::integrity::{fill, pattern};
use crate::measure::deadline::Deadline;
use crate::memory::{Memory, available};

/// Payload that a host passes to its extensions.
pub enum Arguments {
    /// Bytes that a message contains.
    Bytes(Vec<u8>),
    /// Shared memory whose descriptor accompanies a message.
    Shared(Arc<Memory>),
    /// GPU memory, of which a message contains the bytes or a handle.
    Device(Arc<Memory>),
}

impl Arguments {
    /// Allocates a payload of `bytes` bytes on the GPU with CUDA device number `gpu`, or in host memory. Memory that is
    /// copied into messages is touched in parts, so that its allocation ends at `deadline`. Shared memory and GPU memory
    /// are allocated by single calls, which are not interrupted.
    ///
    /// # Errors
    /// Returns an error if the memory is not available, and `DeadlineExceeded` if the deadline passes while memory for
    /// [`PayloadPassing::Copy`] is touched.
    pub fn allocate(
        passing: PayloadPassing,
        gpu: Option<u32>,
        bytes: u64,
        deadline: &Deadline,
    ) -> Result<Self, CaseFailure> {
        if let Some(gpu) = gpu {
            return Ok(Self::Device(Memory::allocate_on_gpu(gpu, bytes as usize)?));
        }
        Ok(match passing {
            PayloadPassing::Copy => Self::Bytes(available::touched_bytes(bytes, deadline)?),
            PayloadPassing::Map => Self::Shared(Memory::allocate(MemoryKind::SharedMemory, bytes as usize)?),
        })
    }

    /// Returns the payload for a message.
    pub fn payload(&self) -> Payload<'_> {
        match self {
            Self::Bytes(bytes) => Payload::Bytes(bytes),
            Self::Shared(memory) => Payload::Shared(memory),
            Self::Device(memory) => Payload::Device(memory),
        }
    }

    /// Returns the shared memory; `None` if a message contains the bytes, or the payload is in GPU memory.
    pub fn shared(&self) -> Option<&Memory> {
        match self {
            Self::Bytes(_) | Self::Device(_) => None,
            Self::Shared(memory) => Some(memory),
        }
    }

    /// Fills the payload with the pattern of transfer `transfer` before `deadline`.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be accessed, and `DeadlineExceeded` if the deadline passes.
    pub fn fill(&mut self, seed: u64, transfer: u64, deadline: &Deadline) -> Result<(), CaseFailure> {
        let activity = "filling the payload";
        match self {
            Self::Bytes(bytes) => deadline.in_parts(activity, bytes.len(), |offset, count| {
                let part = &mut bytes[offset..offset + count];
                pattern::fill(seed, transfer, offset as u64, part);
                Ok(())
            }),
            Self::Shared(memory) | Self::Device(memory) => {
                deadline.in_parts(activity, memory.length(), |offset, count| {
                    let offset = offset as u64;
                    fill(memory, offset, seed, transfer, (offset, count as u64))
                })
            }
        }
    }
}
