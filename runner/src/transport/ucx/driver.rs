//! One rail as the driver of a [`RailSet`](crate::transport::rail_set::RailSet). Posts and polls do not allocate, lock
//! or log unless an operation failed.

use super::error::completion_failed;
use super::ffi::{Rail, RailRegion, RemoteTarget};
use super::shared::Shared;
use super::{close, discovery, open, peer};
use crate::memory::{Memory, available};
use crate::transport::failures::{may_exceed_locked_memory, refused};
use crate::transport::rail_set::{
    Abilities, Allocate, Armed, Flush, OpenedRails, RailDriver, RegisteredMemory,
};
use crate::transport::{
    CompletionKind, OpenConfig, Operation, PackedKey, Peer, Post, PostError, RemoteKey, TransportError,
};
use crds::record::FabricFacts;
use crds::v1alpha1::{UcxMessages, UcxWriteCompletion};
use std::sync::Arc;

impl RailDriver for Rail {
    type Shared = Shared;
    type Region = RailRegion;

    const CONNECT: &'static str = "ucp_ep_create";
    /// UCX itself decides when to ring a doorbell; its API has no equivalent of FI_MORE.
    const ABILITIES: Abilities<Self> = Abilities {
        allocate: Some(Allocate {
            call: "ucp_mem_map",
            method: "ucp_mem_map (allocated by UCX)",
            allocate,
        }),
        check_operation: Some(peer::check_operation),
        flush: Some(Flush {
            has_room: Self::has_free_flush,
            post: Self::post_flush,
            in_flight: Self::requested_flushes,
        }),
        close_and_count: Some(|rails, _, _| close::close_and_count(rails)),
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
        shared: &mut Shared,
        rail: crate::transport::Rail,
        name: &[u8],
        facts: &mut FabricFacts,
    ) -> Result<Peer, TransportError> {
        peer::connect(self, shared, rail, name, facts)
    }

    fn register(&mut self, _shared: &Shared, memory: &Arc<Memory>) -> Result<RailRegion, TransportError> {
        self.register_memory(Arc::clone(memory))
            .map_err(|error| may_exceed_locked_memory(error, memory.length()))
    }

    fn registration_method(_memory: &Memory) -> &'static str {
        "ucp_mem_map"
    }

    fn key(region: &RailRegion) -> PackedKey {
        region.remote().clone()
    }

    fn import(
        &mut self,
        shared: &Shared,
        peer: Peer,
        key: &PackedKey,
        length: u64,
    ) -> Result<RemoteKey, TransportError> {
        peer::import(self, shared, peer, key, length)
    }

    #[inline]
    fn post(
        &mut self,
        shared: &Shared,
        region: &RailRegion,
        post: &Post<'_, RegisteredMemory<Self>>,
    ) -> Result<(), PostError> {
        if post.inject || post.more {
            // UCX copies short messages itself, and has no equivalent of FI_MORE.
            return Err(PostError::Refused(libc::EOPNOTSUPP));
        }
        let range = region
            .range(post.offset, post.length)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        let target = |remote: RemoteKey, offset: u64| RemoteTarget {
            peer: post.peer,
            key: remote.key,
            offset,
        };
        match post.operation {
            Operation::Send { immediate } => match shared.spec.messages {
                UcxMessages::Tag => self.send(range, post.peer, immediate, post.token),
                UcxMessages::ActiveMessage => {
                    self.send_active_message(range, post.peer, immediate, post.token)
                }
            },
            Operation::Write {
                remote,
                remote_offset,
            } => {
                let target = target(remote, remote_offset);
                match shared.spec.write_completion {
                    UcxWriteCompletion::Delivery => self.write(range, target, None, post.token),
                    UcxWriteCompletion::Local => self.put(range, target, post.token),
                }
            }
            Operation::WriteImmediate {
                remote,
                remote_offset,
                immediate,
            } => self.write(range, target(remote, remote_offset), Some(immediate), post.token),
            Operation::Read {
                remote,
                remote_offset,
            } => self.read(range, target(remote, remote_offset), post.token),
        }
    }

    #[inline]
    fn receive(
        &mut self,
        shared: &Shared,
        region: &RailRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let range = region
            .range(offset, length)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        match shared.spec.messages {
            UcxMessages::Tag => self.receive_tagged_message(range, token),
            UcxMessages::ActiveMessage => self.receive_active_message(range, token),
        }
    }

    #[inline]
    fn poll(&mut self, room: usize, report: impl FnMut(CompletionKind)) -> Result<(), TransportError> {
        self.poll_worker(room, report).map_err(completion_failed)
    }

    fn arm(&mut self) -> Result<Armed, TransportError> {
        self.arm_worker()
            .map_err(|error| refused("wait", format!("{}: {error}", error.call)))
    }
}

fn allocate(rail: &mut Rail, bytes: usize) -> Result<(Arc<Memory>, RailRegion), TransportError> {
    let _reservation = available::reserve(bytes as u64, "buffers that UCX allocates")?;
    let region = rail
        .allocate(bytes)
        .map_err(|error| may_exceed_locked_memory(error, bytes))?;
    Ok((Arc::clone(region.memory()), region))
}
