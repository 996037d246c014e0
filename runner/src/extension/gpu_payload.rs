//! Payload in GPU memory: copies that pass through host memory, and handles of shared allocations. Calls the GPU driver.

use std::sync::Arc;

use crds::record::{CaseFailure, FailureReason};

use super::failure;
use super::message::{CallPlan, PayloadPassing};
use crate::memory::{GpuHandle, HANDLE_BYTES, Memory};

/// The GPU payloads of one side.
pub(super) struct GpuPayloads {
    gpu: u32,
    bytes: u64,
    passing: PayloadPassing,
    /// Content of the last message that this side sent.
    message: Vec<u8>,
    /// GPU memory into which messages are copied.
    landing: Option<Arc<Memory>>,
    /// The memory that this side shared last, and its handle. A process cannot map its own memory, so a handle that
    /// comes back in a nested call stands for this memory.
    shared: Option<(GpuHandle, Arc<Memory>)>,
}

impl GpuPayloads {
    /// Creates the payloads of `plan`; `None` if they are in host memory.
    pub(super) fn new(plan: CallPlan) -> Option<Self> {
        Some(Self {
            gpu: plan.gpu?,
            bytes: plan.bytes,
            passing: plan.passing,
            message: Vec::new(),
            landing: None,
            shared: None,
        })
    }

    /// Maximum length of a message that passes a payload, in bytes.
    pub(super) fn max_message_bytes(&self) -> u64 {
        match self.passing {
            PayloadPassing::Copy => self.bytes,
            PayloadPassing::Map => HANDLE_BYTES as u64,
        }
    }

    /// Content of the message that passes `memory`: its bytes, or its handle.
    ///
    /// # Errors
    /// Returns an error if the driver cannot copy or share the memory.
    pub(super) fn message(&mut self, memory: &Arc<Memory>) -> Result<&[u8], CaseFailure> {
        match self.passing {
            PayloadPassing::Copy => {
                self.message.resize(memory.length(), 0);
                memory.read_into(0, &mut self.message)?;
            }
            PayloadPassing::Map => {
                let handle = memory.gpu_handle()?.ok_or_else(|| {
                    let message = "the payload is not in GPU memory; this is a bug in fabricbench".to_owned();
                    failure(FailureReason::Internal, message)
                })?;
                self.message = handle.to_bytes().to_vec();
                self.shared = Some((handle, Arc::clone(memory)));
            }
        }
        Ok(&self.message)
    }

    /// The GPU memory with the payload of a message with this content. Copies replace the previous copy.
    ///
    /// # Errors
    /// Returns an error if the message is malformed, or the driver cannot allocate, copy or map the memory.
    pub(super) fn accept(&mut self, content: &[u8]) -> Result<Arc<Memory>, CaseFailure> {
        let memory = match self.passing {
            PayloadPassing::Copy => self.copy(content)?,
            PayloadPassing::Map => self.map(content)?,
        };
        // The first access of the payload is part of a call.
        let mut first = [0; 8];
        let count = first.len().min(memory.length());
        memory.read_into(0, &mut first[..count])?;
        std::hint::black_box(first);
        Ok(memory)
    }

    /// Like [`GpuPayloads::accept`], but later copies do not replace the payload.
    ///
    /// # Errors
    /// Returns the errors of [`GpuPayloads::accept`].
    pub(super) fn retain(&mut self, content: &[u8]) -> Result<Arc<Memory>, CaseFailure> {
        self.landing = None;
        let memory = self.accept(content)?;
        self.landing = None;
        Ok(memory)
    }

    fn copy(&mut self, content: &[u8]) -> Result<Arc<Memory>, CaseFailure> {
        if content.len() as u64 != self.bytes {
            return Err(malformed(content.len()));
        }
        let landing = match &self.landing {
            Some(landing) => Arc::clone(landing),
            None => Memory::allocate_on_gpu(self.gpu, content.len())?,
        };
        landing.write_from(0, content)?;
        self.landing = Some(Arc::clone(&landing));
        Ok(landing)
    }

    fn map(&self, content: &[u8]) -> Result<Arc<Memory>, CaseFailure> {
        let handle = GpuHandle::from_bytes(content).ok_or_else(|| malformed(content.len()))?;
        match &self.shared {
            Some((own, memory)) if *own == handle => Ok(Arc::clone(memory)),
            _ => Ok(Memory::open_on_gpu(self.gpu, &handle, self.bytes as usize)?),
        }
    }
}

fn malformed(length: usize) -> CaseFailure {
    let message = format!("a message contains {length} bytes, which is not the length of its GPU payload");
    failure(FailureReason::CompletionFailed, message)
}
