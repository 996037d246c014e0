//! One rail as the driver of a [`RailSet`](crate::transport::rail_set::RailSet). Checks the data from peers before the
//! library reads it. Posts allocate only if a request has not been prepared; the library itself allocates in several
//! calls.

use super::error::completion_failed;
use super::ffi::{Rail, RailRegion, RemoteTarget};
use super::rules::packing;
use super::{close, discovery, open};
use crate::memory::Memory;
use crate::transport::failures::{cannot_register, provider_mismatch, refused, with_cause};
use crate::transport::rail_set::{Abilities, Armed, OpenedRails, Prepare, RailDriver, RegisteredMemory};
use crate::transport::{
    CompletionKind, MAX_ADDRESS_BYTES, MAX_KEY_BYTES, OpenConfig, Operation, PackedKey, Peer, Post,
    PostError, RemoteKey, TransportError,
};
use crds::record::FabricFacts;
use crds::v1alpha1::Nixl;
use nixl_sys::{READ, WRITE};
use std::sync::Arc;

impl RailDriver for Rail {
    type Shared = Nixl;
    type Region = RailRegion;

    const CONNECT: &'static str = "load_remote_md";
    /// The backends themselves decide when to ring a doorbell; NIXL's API has no equivalent of FI_MORE.
    const ABILITIES: Abilities<Self> = Abilities {
        prepare: Some(Prepare {
            prepare,
            stats: Self::prepared,
        }),
        close_and_count: Some(|rails, spec, _| close::protocols(&rails, spec)),
        ..Abilities::NONE
    };

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        discovery::discover(config).map(drop)
    }

    fn open(config: &OpenConfig) -> Result<OpenedRails<Self>, TransportError> {
        open::open(config)
    }

    fn connect(
        &mut self,
        spec: &mut Nixl,
        _rail: crate::transport::Rail,
        name: &[u8],
        _facts: &mut FabricFacts,
    ) -> Result<Peer, TransportError> {
        let metadata = packing::unpack(spec.backend, name, MAX_ADDRESS_BYTES, "agent metadata")
            .map_err(|message| refused(Self::CONNECT, message))?;
        let cause = "the peer cannot be reached over the backend's devices, or uses a different NIXL release";
        self.add_peer(metadata).map_err(|error| with_cause(error, cause))
    }

    fn register(&mut self, spec: &Nixl, memory: &Arc<Memory>) -> Result<RailRegion, TransportError> {
        if !self.accepts(memory) {
            let message = format!(
                "the {} backend of this NIXL library does not support {:?} memory",
                spec.backend.name(),
                memory.kind()
            );
            return Err(refused("register_mem", message));
        }
        let region = self.register_memory(Arc::clone(memory), |location, metadata| {
            packing::pack_region(spec.backend, location, metadata)
        });
        let gpu_cause = "the backend may have been unable to load its CUDA modules, which need the CUDA driver \
                         (libcuda.so.1) and the CUDA runtime of the major version that NIXL was built for \
                         (libcudart.so.12 for nixl-cu12)";
        region.map_err(|error| cannot_register(error, memory, gpu_cause))
    }

    fn registration_method(_memory: &Memory) -> &'static str {
        "registerMem"
    }

    fn key(region: &RailRegion) -> PackedKey {
        region.remote().clone()
    }

    fn import(
        &mut self,
        spec: &Nixl,
        peer: Peer,
        key: &PackedKey,
        length: u64,
    ) -> Result<RemoteKey, TransportError> {
        let (location, metadata) = packing::unpack_region(spec.backend, &key.key, MAX_KEY_BYTES)
            .map_err(|message| refused(Self::CONNECT, message))?;
        Ok(RemoteKey {
            address: key.address,
            key: self.import_region(peer, location, metadata, key.address, length)?,
        })
    }

    #[inline]
    fn post(
        &mut self,
        _spec: &Nixl,
        region: &RailRegion,
        post: &Post<'_, RegisteredMemory<Self>>,
    ) -> Result<(), PostError> {
        if post.inject || post.more {
            // The backends copy short messages themselves, and NIXL has no equivalent of FI_MORE.
            return Err(PostError::Refused(libc::EOPNOTSUPP));
        }
        let range = region
            .range(post.offset, post.length)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        match transfer(post) {
            Transfer::Message { immediate } => self.send(range, post.peer, immediate, post.token),
            Transfer::Request {
                operation,
                target,
                immediate,
            } => self.transfer(operation, range, target, immediate, post.token),
        }
    }

    fn receive(
        &mut self,
        _spec: &Nixl,
        region: &RailRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let range = region
            .range(offset, length)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        self.post_receive(range, token)
    }

    #[inline]
    fn poll(&mut self, room: usize, report: impl FnMut(CompletionKind)) -> Result<(), TransportError> {
        self.poll_agent(room, report).map_err(completion_failed)
    }

    fn arm(&mut self) -> Result<Armed, TransportError> {
        let message = "NIXL has no call that waits for a completion: set polling to Spin or Yield".to_owned();
        Err(refused("wait", message))
    }
}

/// How the library performs a post.
enum Transfer {
    /// As a notification with the payload.
    Message { immediate: u64 },
    /// As a transfer request.
    Request {
        operation: nixl_sys::Operation,
        target: RemoteTarget,
        immediate: Option<u64>,
    },
}

#[inline]
fn transfer(post: &Post<'_, RegisteredMemory<Rail>>) -> Transfer {
    let request = |operation, remote: RemoteKey, offset: u64, immediate| Transfer::Request {
        operation,
        target: RemoteTarget {
            peer: post.peer,
            key: remote.key,
            offset,
        },
        immediate,
    };
    match post.operation {
        Operation::Send { immediate } => Transfer::Message { immediate },
        Operation::Write {
            remote,
            remote_offset,
        } => request(WRITE, remote, remote_offset, None),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => request(WRITE, remote, remote_offset, Some(immediate)),
        Operation::Read {
            remote,
            remote_offset,
        } => request(READ, remote, remote_offset, None),
    }
}

/// Prepares `at_once` requests for the locations of `post`, and checks that the requested backend serves them.
fn prepare(
    rail: &mut Rail,
    spec: &Nixl,
    region: &RailRegion,
    post: &Post<'_, RegisteredMemory<Rail>>,
    at_once: u32,
) -> Result<(), TransportError> {
    let Transfer::Request {
        operation, target, ..
    } = transfer(post)
    else {
        return Ok(());
    };
    let Some(range) = region.range(post.offset, post.length) else {
        let message = "a transfer is outside its memory; this is a bug in fabricbench".to_owned();
        return Err(refused("prep_xfer_dlist", message));
    };
    let served_by_other = rail
        .prepare(operation, range, target, at_once)
        .map_err(|message| refused("make_xfer_req", message))?;
    match served_by_other {
        None => Ok(()),
        Some(other) => {
            let message = format!(
                "NIXL would use {other} for the transfers instead of the {} backend",
                spec.backend.name()
            );
            Err(provider_mismatch("query_xfer_backend", message))
        }
    }
}
