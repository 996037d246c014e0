//! One rail: an opened device, the queues that all its queue pairs share, and two queue pairs for each peer.

use super::batch::Batch;
use super::device::DeviceAttributes;
use super::queue_pair::{CallCounters, Connection, QueuePair, QueuePairConfig, QueuePost};
use super::queues::{CompletionQueue, ReceiveQueue, check_posted};
use super::{CallError, Device, RailRegion, RegisteredRange};
use crate::rules::address::QueuePairNumbers;
use crate::rules::depths::{Depths, QUEUES_PER_PEER};
use crds::v1alpha1::VerbsSignaling;
use runner::memory::Memory;
use runner::transport::{Peer, PostError};
use std::ffi::c_int;
use std::sync::Arc;

/// Rail parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RailConfig {
    pub depths: Depths,
    /// Number of pairs of queue pairs: 1 if the worker has one peer, or otherwise one pair per rank.
    pub pairs: usize,
    /// Requested size of the largest inline message, in bytes.
    pub inline_bytes: u32,
    pub signaling: VerbsSignaling,
    /// Whether the rail must support waiting for completions.
    pub uses_wait: bool,
}

/// One of a peer's two queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Queue pair for messages.
    Messages,
    /// Queue pair for reads and writes.
    Memory,
}

/// A rail. The fields are dropped in declaration order, as the library requires.
pub struct Rail {
    pub(super) pairs: Box<[QueuePair]>,
    /// Index of the first queue pair of each connected peer.
    peers: Vec<usize>,
    receives: ReceiveQueue,
    pub(super) immediates: ReceiveQueue,
    pub(super) completions: CompletionQueue,
    pub(super) batch: Batch,
    attributes: DeviceAttributes,
    device: Arc<Device>,
}

// SAFETY: the queues belong to the rail, which is used by one thread at a time.
unsafe impl Send for Rail {}

impl Rail {
    /// Creates a rail's queues on `device`.
    ///
    /// # Errors
    ///
    /// Returns the failed call. Objects that had already been created are destroyed.
    pub(crate) fn open(
        device: Device,
        attributes: DeviceAttributes,
        config: RailConfig,
    ) -> Result<Self, CallError> {
        let device = Arc::new(device);
        let depths = config.depths;
        let completions = CompletionQueue::create(&device, depths.completions, config.uses_wait)?;
        let receives = ReceiveQueue::create(&device, depths.receives)?;
        let immediates = ReceiveQueue::create(&device, depths.immediates)?;
        for _ in 0..depths.immediates {
            check_posted(immediates.post_immediate())?;
        }
        let mut inline_bytes = config.inline_bytes;
        let mut pairs = Vec::with_capacity(config.pairs * QUEUES_PER_PEER);
        for index in 0..config.pairs * QUEUES_PER_PEER {
            let receives = if index % QUEUES_PER_PEER == 0 {
                &receives
            } else {
                &immediates
            };
            let config = QueuePairConfig {
                index: u16::try_from(index).unwrap_or(u16::MAX),
                depth: depths.sends,
                inline_bytes,
                signaling: config.signaling,
            };
            let pair = QueuePair::create(&device, &completions, receives, config)?;
            // The device may grant less or more than requested.
            inline_bytes = inline_bytes.min(pair.inline_bytes());
            pairs.push(pair);
        }
        Ok(Self {
            pairs: pairs.into(),
            peers: Vec::new(),
            receives,
            immediates,
            completions,
            batch: Batch::default(),
            attributes,
            device,
        })
    }

    /// Returns the numbers of all queue pairs.
    pub(crate) fn numbers(&self) -> Vec<QueuePairNumbers> {
        let pairs = self.pairs.chunks_exact(QUEUES_PER_PEER);
        pairs
            .filter_map(|pair| match pair {
                [messages, memory] => Some(QueuePairNumbers {
                    messages: messages.number(),
                    memory: memory.number(),
                }),
                _ => None,
            })
            .collect()
    }

    /// Size of the largest message that every queue pair accepts inline, in bytes.
    pub(crate) fn inline_bytes(&self) -> u32 {
        self.pairs.iter().map(QueuePair::inline_bytes).min().unwrap_or(0)
    }

    /// Returns the counters, summed over all queue pairs.
    pub(crate) fn calls(&self) -> CallCounters {
        let mut total = CallCounters::default();
        self.pairs.iter().for_each(|pair| total.add(pair.calls()));
        total
    }

    /// Connects the pair of queue pairs at index `pair` to a peer's queue pairs. Returns the peer number.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(crate) fn connect_pair(
        &mut self,
        pair: usize,
        numbers: QueuePairNumbers,
        connection: Connection,
    ) -> Result<Peer, CallError> {
        let first = pair * QUEUES_PER_PEER;
        for (queue, number) in [(first, numbers.messages), (first + 1, numbers.memory)] {
            let pair = self.pairs.get(queue).ok_or(CallError {
                call: "ibv_modify_qp",
                number: libc::EINVAL,
            })?;
            pair.connect(&Connection { number, ..connection }, &self.attributes)?;
        }
        self.peers.push(first);
        Ok(self.peers.len() - 1)
    }

    /// Registers memory with the rail's device.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(crate) fn register_memory(&self, memory: &Arc<Memory>) -> Result<RailRegion, CallError> {
        RailRegion::register(&self.device, memory)
    }

    /// Posts to one of the queue pairs for a peer.
    ///
    /// # Errors
    /// Returns a [`PostError`].
    #[inline]
    pub(crate) fn post_to_queue(
        &mut self,
        peer: Peer,
        queue: Queue,
        post: QueuePost<'_>,
    ) -> Result<(), PostError> {
        let offset = match queue {
            Queue::Messages => 0,
            Queue::Memory => 1,
        };
        let pair = self
            .peers
            .get(peer)
            .and_then(|first| self.pairs.get_mut(first + offset));
        pair.ok_or(PostError::Refused(libc::EINVAL))?.post(post)
    }

    /// Posts a receive for a message from any peer.
    ///
    /// # Errors
    /// Returns a [`PostError`].
    #[inline]
    pub(crate) fn post_receive(&self, range: RegisteredRange<'_>, token: u32) -> Result<(), PostError> {
        self.receives.post(range, token).map_err(|number| match number {
            libc::ENOMEM | libc::EAGAIN => PostError::Again,
            libc::EINVAL => PostError::Refused(number),
            _ => PostError::Failed(number),
        })
    }

    /// File descriptor that becomes readable when a completion arrives; `None` if the rail was not opened for waiting.
    pub(super) fn descriptor(&self) -> Option<c_int> {
        self.completions.channel().map(super::queues::Channel::descriptor)
    }
}
