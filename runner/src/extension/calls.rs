//! Calls between a host and its extension. Both sides execute this code. Performs I/O on the connection.
//!
//! A process that answers a call other than the last one calls the other process before it replies. When a process
//! passes the payload on, it sends its own copy of the payload, or the descriptor that it received.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crds::record::{CaseFailure, FailureReason, IntegrityReport};
use crds::v1alpha1::MemoryKind;

use super::failure;
use super::gpu_payload::GpuPayloads;
use super::link::{Body, Link};
use super::message::{CallPlan, Message, PayloadPassing};
use crate::integrity::Verifier;
use crate::memory::Memory;

/// Payload of the first call of a sample.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// The message contains the bytes.
    Bytes(&'a [u8]),
    /// The payload is in shared memory, whose descriptor accompanies the message.
    Shared(&'a Memory),
    /// The payload is in GPU memory.
    Device(&'a Arc<Memory>),
}

/// One side of the calls.
pub(super) struct Calls {
    link: Link,
    plan: CallPlan,
    /// Bytes of the last message with a body.
    received: Vec<u8>,
    /// Payload that the last request asked this side to retain.
    kept: Option<Arc<Memory>>,
    /// Payloads in GPU memory; `None` if they are in host memory.
    gpu: Option<GpuPayloads>,
    check: Option<Check>,
}

/// Checker for the payloads that arrive on this side.
struct Check {
    verifier: Verifier,
    seed: u64,
    transfer: u64,
    arrived: u64,
}

impl Calls {
    pub(super) fn new(link: Link) -> Self {
        let plan = CallPlan {
            hops: 1,
            bytes: 0,
            passing: PayloadPassing::Copy,
            gpu: None,
            echo: false,
        };
        Self {
            link,
            plan,
            received: Vec::new(),
            kept: None,
            gpu: None,
            check: None,
        }
    }

    pub(super) fn set_plan(&mut self, plan: CallPlan) {
        self.plan = plan;
        self.gpu = GpuPayloads::new(plan);
    }

    pub(super) fn plan(&self) -> CallPlan {
        self.plan
    }

    /// Accepts the payload of the last message, if that message was a request to retain it.
    pub(super) fn accept_retained(&mut self) -> Result<Arc<Memory>, CaseFailure> {
        if let Some(gpu) = &mut self.gpu {
            let memory = gpu.retain(&self.received)?;
            return self.checked(memory);
        }
        let memory = self.kept.take().ok_or_else(|| {
            let message = "a message contains no payload to retain; this is a bug in fabricbench".to_owned();
            failure(FailureReason::Internal, message)
        })?;
        self.check_length(memory.length())?;
        self.checked(memory)
    }

    /// Returns `memory`, which contains an accepted payload, after checking its bytes in an integrity pass.
    fn checked(&mut self, memory: Arc<Memory>) -> Result<Arc<Memory>, CaseFailure> {
        if let Some(check) = &mut self.check {
            check.arrived += 1;
            check
                .verifier
                .check_chunk(&memory, 0, check.transfer, (0, self.plan.bytes))?;
        }
        Ok(memory)
    }

    /// Checks the length of a payload.
    fn check_length(&self, found: usize) -> Result<(), CaseFailure> {
        if found as u64 == self.plan.bytes {
            return Ok(());
        }
        let message = format!(
            "a message contains {found} bytes of payload instead of {}",
            self.plan.bytes
        );
        Err(failure(FailureReason::CompletionFailed, message))
    }

    /// Checks the payloads that arrive from now on.
    pub(super) fn check_payloads(&mut self, seed: u64, transfer: u64) {
        match &mut self.check {
            Some(check) if check.seed == seed => check.transfer = transfer,
            check => {
                *check = Some(Check {
                    verifier: Verifier::new(seed),
                    seed,
                    transfer,
                    arrived: 0,
                });
            }
        }
    }

    /// Returns the result of the checks on this side.
    pub(super) fn report(&self) -> IntegrityReport {
        let report = |check: &Check| check.verifier.report(check.arrived);
        self.check.as_ref().map(report).unwrap_or_default()
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<(), CaseFailure> {
        self.link.send(message, Body::Empty).map_err(connection_failure)
    }

    pub(super) fn send_payload(
        &mut self,
        message: &Message,
        payload: Payload<'_>,
    ) -> Result<(), CaseFailure> {
        let body = match (payload, &mut self.gpu) {
            (Payload::Device(memory), Some(gpu)) => Body::Bytes(gpu.message(memory)?),
            (payload, _) => body(payload)?,
        };
        self.link.send(message, body).map_err(connection_failure)
    }

    /// Failure that the other side reported, if this is its next message. Reads from the connection, so the other side must
    /// have closed it.
    pub(super) fn reported_failure(&mut self) -> Option<CaseFailure> {
        match self.link.receive_header(0) {
            Ok((Message::Failed(failure), _)) => Some(failure),
            _ => None,
        }
    }

    pub(super) fn receive(&mut self) -> Result<Message, CaseFailure> {
        let max = self
            .gpu
            .as_ref()
            .map_or(self.plan.bytes, GpuPayloads::max_message_bytes);
        let (message, length) = self.link.receive_header(max).map_err(connection_failure)?;
        if length > 0 && message == Message::Hold && self.gpu.is_none() {
            self.kept = Some(self.receive_memory(length)?);
            return Ok(message);
        }
        self.link
            .receive_body(length, &mut self.received)
            .map_err(connection_failure)?;
        match message {
            Message::Failed(failure) => Err(failure),
            message => Ok(message),
        }
    }

    /// Receives a body of `length` bytes into separate pages, so that no other copy remains.
    fn receive_memory(&mut self, length: usize) -> Result<Arc<Memory>, CaseFailure> {
        let memory = Memory::allocate(MemoryKind::Heap, length)?;
        let written = self.link.receive_parts(length, |offset, part| {
            memory.write_from(offset, part).map_err(io::Error::other)
        });
        written.map_err(connection_failure)?;
        Ok(memory)
    }

    pub(super) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.link.take_descriptor()
    }

    /// Makes the first call of a sample with `payload`, and returns when its reply has arrived.
    pub(super) fn call(&mut self, payload: Payload<'_>) -> Result<(), CaseFailure> {
        self.send_payload(&Message::Request { hop: 1 }, payload)?;
        self.await_reply(1)
    }

    /// Waits for the reply to call `hop`. Answers the call that is nested in it.
    fn await_reply(&mut self, hop: u32) -> Result<(), CaseFailure> {
        let mut message = self.receive()?;
        if let Message::Request { hop: nested } = message
            && nested == hop + 1
        {
            self.answer(nested)?;
            message = self.receive()?;
        }
        match message {
            Message::Reply { hop: replied, bytes } if replied == hop && bytes == self.plan.bytes => {}
            other => return Err(unexpected_message(&other)),
        }
        if self.plan.echo {
            self.accept_bytes()?;
        }
        Ok(())
    }

    /// Answers call `hop`, whose request has been received.
    pub(super) fn answer(&mut self, hop: u32) -> Result<(), CaseFailure> {
        let accepted = match (&mut self.gpu, self.plan.passing) {
            (Some(gpu), _) => {
                let memory = gpu.accept(&self.received)?;
                Some(self.checked(memory)?)
            }
            (None, PayloadPassing::Copy) => None,
            (None, PayloadPassing::Map) => Some(self.accept_mapping()?),
        };
        if accepted.is_none() {
            self.accept_bytes()?;
        }
        if hop < self.plan.hops {
            let request = Message::Request { hop: hop + 1 };
            match (&accepted, self.plan.gpu, self.plan.passing) {
                // A mapping of GPU memory has no handle of its own, so the handle that arrived is passed on.
                (None, ..) | (Some(_), Some(_), PayloadPassing::Map) => {
                    let body = Body::Bytes(&self.received);
                    self.link.send(&request, body).map_err(connection_failure)?;
                }
                (Some(memory), Some(_), PayloadPassing::Copy) => {
                    self.send_payload(&request, Payload::Device(memory))?;
                }
                (Some(memory), None, _) => self.send_payload(&request, Payload::Shared(memory))?,
            }
            self.await_reply(hop + 1)?;
        }
        let reply = Message::Reply {
            hop,
            bytes: self.plan.bytes,
        };
        let body = if self.plan.echo {
            Body::Bytes(&self.received)
        } else {
            Body::Empty
        };
        self.link.send(&reply, body).map_err(connection_failure)
    }

    /// Accepts a payload that the last message contained.
    fn accept_bytes(&mut self) -> Result<(), CaseFailure> {
        self.check_length(self.received.len())?;
        if let Some(check) = &mut self.check {
            check.arrived += 1;
            check.verifier.check_bytes(&self.received, check.transfer);
        }
        Ok(())
    }

    /// Maps a payload whose descriptor accompanied the last message, and reads its first bytes.
    pub(super) fn accept_mapping(&mut self) -> Result<Arc<Memory>, CaseFailure> {
        let descriptor = self.take_descriptor().ok_or_else(|| {
            let message = "a message is not accompanied by the descriptor of its payload".to_owned();
            failure(FailureReason::CompletionFailed, message)
        })?;
        let bytes = self.plan.bytes;
        let memory = Memory::map_shared(File::from(descriptor), bytes as usize)?;
        let mut first = [0; 8];
        let count = first.len().min(bytes as usize);
        memory.read_into(0, &mut first[..count])?;
        std::hint::black_box(first);
        if let Some(check) = &mut self.check {
            check.arrived += 1;
            check
                .verifier
                .check_chunk(&memory, 0, check.transfer, (0, bytes))?;
        }
        Ok(memory)
    }
}

fn body(payload: Payload<'_>) -> Result<Body<'_>, CaseFailure> {
    match payload {
        Payload::Device(_) => {
            let message = "a plan for host memory has a payload in GPU memory; this is a bug in fabricbench";
            Err(failure(FailureReason::Internal, message.to_owned()))
        }
        Payload::Bytes(bytes) => Ok(Body::Bytes(bytes)),
        Payload::Shared(memory) => memory.descriptor().map(Body::Descriptor).ok_or_else(|| {
            let message = "the payload is not in shared memory; this is a bug in fabricbench".to_owned();
            failure(FailureReason::Internal, message)
        }),
    }
}

pub(super) fn unexpected_message(message: &Message) -> CaseFailure {
    let text = format!("unexpected message {message:?}; this is a bug in fabricbench");
    failure(FailureReason::Internal, text)
}

pub(super) fn connection_failure(error: io::Error) -> CaseFailure {
    let reason = match error.kind() {
        io::ErrorKind::OutOfMemory => FailureReason::OutOfMemory,
        io::ErrorKind::InvalidData => FailureReason::CompletionFailed,
        _ => FailureReason::PeerLost,
    };
    failure(
        reason,
        format!("the connection between host and extension failed: {error}"),
    )
}
