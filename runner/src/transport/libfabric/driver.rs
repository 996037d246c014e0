//! One rail as the driver of a [`RailSet`](crate::transport::rail_set::RailSet). Checks names from peers before the
//! library reads them. For shm peers, also checks that `/dev/shm` contains their shared-memory files. Posts and polls do
//! not allocate, lock or log unless a completion reports an error.

use super::error::completion_failed;
use super::ffi::{QueueRead, Rail, RailRegion, RemoteTarget, registration_call};
use super::rules::address;
use super::rules::provider::read_supports_more;
use super::{discovery, open};
use crate::memory::Memory;
use crate::transport::failures::{may_exceed_locked_memory, refused};
use crate::transport::rail_set::{Abilities, Armed, OpenedRails, RailDriver, RegisteredMemory};
use crate::transport::{
    CompletionKind, OpenConfig, Operation, PackedKey, Peer, Post, PostError, RemoteKey, TransportError,
};
use crds::record::{FabricFacts, FailureReason};
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::bindings::{FI_EINVAL, FI_EOPNOTSUPP};
use std::path::Path;
use std::sync::Arc;

/// Directory that contains the shared-memory files of shm endpoints.
const SHARED_MEMORY: &str = "/dev/shm";

impl RailDriver for Rail {
    type Shared = LibfabricProvider;
    type Region = RailRegion;

    const CONNECT: &'static str = "fi_av_insert";
    const ABILITIES: Abilities<Self> = Abilities {
        more: true,
        ..Abilities::NONE
    };

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        // The first fi_getinfo initializes the providers; later calls reuse them.
        discovery::discover(config).map(drop)
    }

    fn open(config: &OpenConfig) -> Result<OpenedRails<Self>, TransportError> {
        open::open(config)
    }

    fn connect(
        &mut self,
        provider: &mut LibfabricProvider,
        _rail: crate::transport::Rail,
        name: &[u8],
        _facts: &mut FabricFacts,
    ) -> Result<Peer, TransportError> {
        let padded = address::pad(name, self.name()).map_err(|message| refused(Self::CONNECT, message))?;
        if *provider == LibfabricProvider::Shm {
            check_shared_memory(name)?;
        }
        Ok(self.insert(&padded)?)
    }

    fn register(
        &mut self,
        _provider: &LibfabricProvider,
        memory: &Arc<Memory>,
    ) -> Result<RailRegion, TransportError> {
        self.register_memory(Arc::clone(memory))
            .map_err(|error| may_exceed_locked_memory(error, memory.length()))
    }

    fn registration_method(memory: &Memory) -> &'static str {
        registration_call(memory)
    }

    fn key(region: &RailRegion) -> PackedKey {
        region.remote().into()
    }

    fn import(
        &mut self,
        _provider: &LibfabricProvider,
        _peer: Peer,
        key: &PackedKey,
        _length: u64,
    ) -> Result<RemoteKey, TransportError> {
        RemoteKey::try_from(key)
    }

    #[inline]
    fn post(
        &mut self,
        provider: &LibfabricProvider,
        region: &RailRegion,
        post: &Post<'_, RegisteredMemory<Self>>,
    ) -> Result<(), PostError> {
        let range = region
            .range(post.offset, post.length)
            .ok_or(PostError::Refused(FI_EINVAL))?;
        if post.inject && post.more {
            // The inject calls have no flags argument.
            return Err(PostError::Refused(FI_EINVAL));
        }
        let target = |remote: RemoteKey, offset: u64| RemoteTarget {
            peer: post.peer,
            address: remote.address.wrapping_add(offset),
            key: remote.key,
        };
        match post.operation {
            Operation::Send { immediate } if post.inject => self.inject_send(range, post.peer, immediate),
            Operation::Send { immediate } => self.send(range, post.peer, immediate, post.token, post.more),
            // Neither side would learn that an injected write without immediate data has arrived.
            Operation::Write { .. } if post.inject => Err(PostError::Refused(FI_EINVAL)),
            Operation::Write {
                remote,
                remote_offset,
            } => self.write(range, target(remote, remote_offset), post.token, post.more),
            Operation::WriteImmediate {
                remote,
                remote_offset,
                immediate,
            } if post.inject => self.inject_write_immediate(range, target(remote, remote_offset), immediate),
            Operation::WriteImmediate {
                remote,
                remote_offset,
                immediate,
            } => self.write_immediate(
                range,
                target(remote, remote_offset),
                immediate,
                post.token,
                post.more,
            ),
            Operation::Read { .. } if post.inject => Err(PostError::Refused(FI_EINVAL)),
            Operation::Read { .. } if post.more && !read_supports_more(*provider) => {
                Err(PostError::Refused(FI_EOPNOTSUPP))
            }
            Operation::Read {
                remote,
                remote_offset,
            } => self.read(range, target(remote, remote_offset), post.token, post.more),
        }
    }

    #[inline]
    fn receive(
        &mut self,
        _provider: &LibfabricProvider,
        region: &RailRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let range = region
            .range(offset, length)
            .ok_or(PostError::Refused(FI_EINVAL))?;
        self.post_receive(range, token)
    }

    #[inline]
    fn poll(&mut self, room: usize, report: impl FnMut(CompletionKind)) -> Result<(), TransportError> {
        match self.read_queue(room, report) {
            QueueRead::Failed(failure) => Err(completion_failed(failure)),
            QueueRead::Done => Ok(()),
        }
    }

    fn arm(&mut self) -> Result<Armed, TransportError> {
        Ok(self.arm_queue()?)
    }
}

/// Checks that this worker can open a peer's shared memory.
///
/// Without this check, the shm provider would indefinitely return EAGAIN for every post to an unreachable peer.
fn check_shared_memory(name: &[u8]) -> Result<(), TransportError> {
    let file = address::shared_memory_file(name).filter(|file| Path::new(SHARED_MEMORY).join(file).exists());
    if file.is_some() {
        return Ok(());
    }
    let message = format!(
        "the peer's endpoint {} is not in this worker's {SHARED_MEMORY}: both workers must be on the same host and \
         share this directory (by default, each pod has a separate one)",
        address::display(name)
    );
    Err(TransportError {
        reason: FailureReason::FabricUnreachable,
        operation: Rail::CONNECT,
        message,
    })
}
