//! One rail as the driver of a [`RailSet`](runner::transport::rail_set::RailSet). Posts and polls do not allocate, lock
//! or log unless a completion reports an error.

use crate::error::completion_failed;
use crate::ffi::{Connection, Queue, QueuePost, Rail, RailRegion};
use crate::rules::address::{RailAddress, index_for};
use crate::shared::Shared;
use crate::{close, open};
use crds::record::{FabricFacts, FailureReason};
use runner::memory::Memory;
use runner::transport::failures::{cannot_register, refused, with_cause};
use runner::transport::rail_set::{Abilities, Armed, OpenedRails, RailDriver, RegisteredMemory};
use runner::transport::{
    CallNames, CompletionKind, OpenConfig, Operation, PackedKey, Peer, Post, PostError, RemoteKey,
    TransportError,
};
use std::sync::Arc;

impl RailDriver for Rail {
    type Shared = Shared;
    type Region = RailRegion;

    const CONNECT: &'static str = "connect";
    const ABILITIES: Abilities<Self> = Abilities {
        more: true,
        call_names: CallNames::Verbs,
        close_and_count: Some(|rails, _, facts| close::protocols(&rails, facts)),
        ..Abilities::NONE
    };

    /// Does nothing, because the library is linked.
    fn load(_config: &OpenConfig) -> Result<(), TransportError> {
        Ok(())
    }

    fn open(config: &OpenConfig) -> Result<OpenedRails<Self>, TransportError> {
        open::open(config)
    }

    fn connect(
        &mut self,
        shared: &mut Shared,
        rail: runner::transport::Rail,
        name: &[u8],
        _facts: &mut FabricFacts,
    ) -> Result<Peer, TransportError> {
        let own = &shared.addresses[rail];
        let theirs = RailAddress::unpack(name).ok_or_else(|| {
            invalid_peer(
                "the peer's address does not belong to this transport; use the same runner version for all workers"
                    .to_owned(),
            )
        })?;
        // Outside an InfiniBand subnet, one of the local identifiers is 0.
        let lid = (own.lid != 0 && theirs.lid != 0).then_some(theirs.lid);
        let pair = index_for(own.queue_pairs.len(), theirs.rank);
        let numbers = theirs.queue_pairs.get(theirs.index_for(shared.rank)).copied();
        let (true, Some(numbers)) = (pair < own.queue_pairs.len(), numbers) else {
            return Err(invalid_peer(format!(
                "rank {} and this worker, rank {}, have no queue pairs for each other; use the same assignment for all \
                 workers",
                theirs.rank, shared.rank
            )));
        };
        let connection = Connection {
            number: 0,
            first_packets: (own.first_packet, theirs.first_packet),
            mtu: own.mtu.min(theirs.mtu),
            peer_reads: theirs.reads,
            gid_index: shared.gid_indexes[rail],
            gid: theirs.gid,
            lid,
        };
        self.connect_pair(pair, numbers, connection).map_err(|error| {
            let address = std::net::Ipv6Addr::from(theirs.gid).to_canonical();
            let cause =
                format!("the peer's address is {address}, which this device's network must be able to reach");
            with_cause(error, cause)
        })
    }

    fn register(&mut self, _shared: &Shared, memory: &Arc<Memory>) -> Result<RailRegion, TransportError> {
        let gpu_cause = "registering GPU memory requires the nvidia-peermem module";
        self.register_memory(memory)
            .map_err(|error| cannot_register(error, memory, gpu_cause))
    }

    fn registration_method(_memory: &Memory) -> &'static str {
        "ibv_reg_mr"
    }

    fn key(region: &RailRegion) -> PackedKey {
        region.key().into()
    }

    fn import(
        &mut self,
        _shared: &Shared,
        _peer: Peer,
        key: &PackedKey,
        _length: u64,
    ) -> Result<RemoteKey, TransportError> {
        RemoteKey::try_from(key)
    }

    #[inline]
    fn post(
        &mut self,
        _shared: &Shared,
        region: &RailRegion,
        post: &Post<'_, RegisteredMemory<Self>>,
    ) -> Result<(), PostError> {
        let range = region
            .range(post.offset, post.length)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        let queue = match post.operation {
            Operation::Send { .. } => Queue::Messages,
            Operation::Write { .. } | Operation::WriteImmediate { .. } | Operation::Read { .. } => {
                Queue::Memory
            }
        };
        let has_immediate = matches!(
            post.operation,
            Operation::Send { .. } | Operation::WriteImmediate { .. }
        );
        // The driver copies inline data only when the doorbell rings, but the memory of an injected post must be reusable
        // immediately. Without immediate data, neither side would learn that an injected post has arrived.
        if post.inject && (post.more || !has_immediate) {
            return Err(PostError::Refused(libc::EINVAL));
        }
        let queue_post = QueuePost {
            range,
            operation: post.operation,
            token: (!post.inject).then_some(post.token),
            more: post.more,
        };
        self.post_to_queue(post.peer, queue, queue_post)
    }

    #[inline]
    fn receive(
        &mut self,
        _shared: &Shared,
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
        self.poll_queue(room, report).map_err(completion_failed)
    }

    fn arm(&mut self) -> Result<Armed, TransportError> {
        self.arm_queue()
            .map_err(|error| refused("wait", error.to_string()))
    }
}

fn invalid_peer(message: String) -> TransportError {
    TransportError {
        reason: FailureReason::InvalidAssignment,
        operation: Rail::CONNECT,
        message,
    }
}
