//! One queue pair: connects it to a peer's queue pair, and posts chains of work requests.

use super::device::DeviceAttributes;
use super::queues::{CompletionQueue, ReceiveQueue};
use super::{CallError, Device, PORT, RegisteredRange, check, check_created};
use crate::rules::gid::Gid;
use crate::rules::request_id::RequestId;
use crate::rules::send_queue::SendQueue;
use crds::v1alpha1::VerbsSignaling;
use rdma_sys::{
    ibv_access_flags, ibv_ah_attr, ibv_create_qp, ibv_destroy_qp, ibv_gid, ibv_global_route, ibv_modify_qp,
    ibv_post_send, ibv_qp, ibv_qp_attr, ibv_qp_attr_mask, ibv_qp_init_attr, ibv_qp_state, ibv_qp_type,
    ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode, imm_data_invalidated_rkey_union_t, rdma_t, wr_t,
};
use runner::transport::{Operation, PostError};
use std::ffi::{c_int, c_uint};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// Code for the retransmission timeout: 4.096 us * 2^14, which is 67 ms.
const TIMEOUT: u8 = 14;
/// Number of retransmissions after which a connection breaks; together, they take about half a second.
const RETRIES: u8 = 7;
/// Code for an unlimited number of attempts while the peer has not posted a receive.
const UNLIMITED_RECEIVE_RETRIES: u8 = 7;
/// Code for the delay after which a message is retried if the peer has not posted a receive: 10 us, the shortest
/// supported delay.
const RECEIVER_TIMER: u8 = 1;
/// Hop limit: maximum number of routers on the path.
const HOP_LIMIT: u8 = 64;

/// Factor by which the inline size is reduced until the device supports it.
const INLINE_STEP: u32 = 2;

/// Parameters for creating a queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuePairConfig {
    /// Index of the queue pair, which is included in its completions.
    pub index: u16,
    pub depth: usize,
    pub inline_bytes: u32,
    pub signaling: VerbsSignaling,
}

/// Connection parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    /// Number of the peer's queue pair.
    pub number: u32,
    /// First packet sequence numbers of this side and of the peer.
    pub first_packets: (u32, u32),
    /// MTU, as an `ibv_mtu` code.
    pub mtu: u8,
    /// Number of reads that the peer's queue pair serves concurrently.
    pub peer_reads: u8,
    /// Index of the local address in the port's GID table.
    pub gid_index: u8,
    /// Address of the peer's port.
    pub gid: Gid,
    /// Local identifier of the peer's port if the ports are in an InfiniBand subnet; `None` for RoCE.
    pub lid: Option<u16>,
}

/// Counts of a queue pair's calls and work requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCounters {
    /// Number of `ibv_post_send` calls. Each call rings the doorbell once.
    pub calls: u64,
    /// Number of work requests in all calls.
    pub requests: u64,
    /// Number of work requests with IBV_SEND_INLINE.
    pub inline: u64,
    /// Number of work requests with IBV_SEND_SIGNALED.
    pub signaled: u64,
}

impl CallCounters {
    /// Adds the counters of another queue pair.
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.requests += other.requests;
        self.inline += other.inline;
        self.signaled += other.signaled;
    }
}

/// A post to one queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePost<'a> {
    pub range: RegisteredRange<'a>,
    pub operation: Operation,
    /// Token of the completion; `None` for an injected post, which is inline.
    pub token: Option<u32>,
    /// Whether the post is held back until a later post rings the doorbell.
    pub more: bool,
}

/// A queue pair and the requests in its send queue.
pub(super) struct QueuePair {
    pair: NonNull<ibv_qp>,
    index: u16,
    number: u32,
    inline_bytes: u32,
    pub(super) queue: SendQueue,
    /// The first `chained` elements are the work requests that are waiting for the doorbell.
    requests: Box<[ibv_send_wr]>,
    elements: Box<[ibv_sge]>,
    chained: usize,
    calls: CallCounters,
    _device: Arc<Device>,
}

impl QueuePair {
    /// Creates a queue pair. If the device does not support the requested inline size, creates it with a smaller one.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(super) fn create(
        device: &Arc<Device>,
        completions: &CompletionQueue,
        receives: &ReceiveQueue,
        config: QueuePairConfig,
    ) -> Result<Self, CallError> {
        let mut inline_bytes = config.inline_bytes;
        let (pair, inline_bytes) = loop {
            // SAFETY: all fields are integers and pointers, for which zero is valid.
            let mut attributes: ibv_qp_init_attr = unsafe { std::mem::zeroed() };
            attributes.send_cq = completions.as_ptr();
            attributes.recv_cq = completions.as_ptr();
            attributes.srq = receives.as_ptr();
            attributes.cap.max_send_wr = u32::try_from(config.depth).unwrap_or(u32::MAX);
            attributes.cap.max_send_sge = 1;
            attributes.cap.max_inline_data = inline_bytes;
            attributes.qp_type = ibv_qp_type::IBV_QPT_RC;
            // SAFETY: the protection domain and the queues exist.
            let pair = unsafe { ibv_create_qp(device.domain(), &mut attributes) };
            match check_created("ibv_create_qp", pair) {
                Ok(pair) => break (pair, attributes.cap.max_inline_data),
                Err(error) if inline_bytes == 0 || error.number != libc::EINVAL => return Err(error),
                Err(_) => inline_bytes /= INLINE_STEP,
            }
        };
        // SAFETY: the queue pair exists, and its number does not change.
        let number = unsafe { pair.as_ref() }.qp_num;
        let request = |_| {
            // SAFETY: all fields are integers, pointers and unions of these, for which zero is valid.
            unsafe { std::mem::zeroed::<ibv_send_wr>() }
        };
        let pair = Self {
            pair,
            index: config.index,
            number,
            inline_bytes,
            queue: SendQueue::new(config.depth, config.signaling),
            requests: (0..config.depth).map(request).collect(),
            elements: (0..config.depth)
                .map(|_| ibv_sge {
                    addr: 0,
                    length: 0,
                    lkey: 0,
                })
                .collect(),
            chained: 0,
            calls: CallCounters::default(),
            _device: Arc::clone(device),
        };
        pair.initialize()?;
        Ok(pair)
    }

    /// Number that the peer uses to connect to this queue pair.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Size of the largest inline message, in bytes.
    pub(super) fn inline_bytes(&self) -> u32 {
        self.inline_bytes
    }

    pub(super) fn calls(&self) -> CallCounters {
        self.calls
    }

    fn modify(&self, attributes: &mut ibv_qp_attr, mask: ibv_qp_attr_mask) -> Result<(), CallError> {
        // SAFETY: the queue pair exists, and the mask names only attributes that are set.
        let result = unsafe { ibv_modify_qp(self.pair.as_ptr(), attributes, mask.0 as c_int) };
        check("ibv_modify_qp", result)
    }

    fn initialize(&self) -> Result<(), CallError> {
        let mut attributes = empty_attributes();
        attributes.qp_state = ibv_qp_state::IBV_QPS_INIT;
        attributes.port_num = PORT;
        attributes.qp_access_flags =
            ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0 | ibv_access_flags::IBV_ACCESS_REMOTE_READ.0;
        self.modify(
            &mut attributes,
            ibv_qp_attr_mask::IBV_QP_STATE
                | ibv_qp_attr_mask::IBV_QP_PKEY_INDEX
                | ibv_qp_attr_mask::IBV_QP_PORT
                | ibv_qp_attr_mask::IBV_QP_ACCESS_FLAGS,
        )
    }

    /// Connects to the peer's queue pair.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(super) fn connect(
        &self,
        connection: &Connection,
        device: &DeviceAttributes,
    ) -> Result<(), CallError> {
        let (own_first, peer_first) = connection.first_packets;
        let mut attributes = empty_attributes();
        attributes.qp_state = ibv_qp_state::IBV_QPS_RTR;
        attributes.path_mtu = connection.mtu.into();
        attributes.dest_qp_num = connection.number;
        attributes.rq_psn = peer_first;
        attributes.max_dest_rd_atomic = device.reads_as_target;
        attributes.min_rnr_timer = RECEIVER_TIMER;
        attributes.ah_attr = ibv_ah_attr {
            grh: ibv_global_route {
                dgid: ibv_gid { raw: connection.gid },
                flow_label: 0,
                sgid_index: connection.gid_index,
                hop_limit: HOP_LIMIT,
                traffic_class: 0,
            },
            dlid: connection.lid.unwrap_or(0),
            sl: 0,
            src_path_bits: 0,
            static_rate: 0,
            is_global: connection.lid.is_none().into(),
            port_num: PORT,
        };
        self.modify(
            &mut attributes,
            ibv_qp_attr_mask::IBV_QP_STATE
                | ibv_qp_attr_mask::IBV_QP_AV
                | ibv_qp_attr_mask::IBV_QP_PATH_MTU
                | ibv_qp_attr_mask::IBV_QP_DEST_QPN
                | ibv_qp_attr_mask::IBV_QP_RQ_PSN
                | ibv_qp_attr_mask::IBV_QP_MAX_DEST_RD_ATOMIC
                | ibv_qp_attr_mask::IBV_QP_MIN_RNR_TIMER,
        )?;
        let mut attributes = empty_attributes();
        attributes.qp_state = ibv_qp_state::IBV_QPS_RTS;
        attributes.timeout = TIMEOUT;
        attributes.retry_cnt = RETRIES;
        attributes.rnr_retry = UNLIMITED_RECEIVE_RETRIES;
        attributes.sq_psn = own_first;
        attributes.max_rd_atomic = device.reads_as_initiator.min(connection.peer_reads);
        self.modify(
            &mut attributes,
            ibv_qp_attr_mask::IBV_QP_STATE
                | ibv_qp_attr_mask::IBV_QP_TIMEOUT
                | ibv_qp_attr_mask::IBV_QP_RETRY_CNT
                | ibv_qp_attr_mask::IBV_QP_RNR_RETRY
                | ibv_qp_attr_mask::IBV_QP_SQ_PSN
                | ibv_qp_attr_mask::IBV_QP_MAX_QP_RD_ATOMIC,
        )
    }

    /// Adds a request to the chain, and passes the chain to the driver unless more requests follow.
    ///
    /// # Errors
    ///
    /// Returns a [`PostError`]. If it is `Again`, the existing chain has been passed to the driver.
    #[inline]
    pub(super) fn post(&mut self, post: QueuePost<'_>) -> Result<(), PostError> {
        let is_inline = post.token.is_none();
        if is_inline && post.range.length() > self.inline_bytes {
            return Err(PostError::Refused(libc::EMSGSIZE));
        }
        if self.queue.is_full() {
            self.ring_doorbell()?;
            return Err(PostError::Again);
        }
        let id = RequestId::Send {
            queue: self.index,
            sequence: self.queue.next(),
        };
        let signaled = self.queue.must_signal(post.token.is_some(), !post.more);
        let mut flags = 0;
        if is_inline {
            flags |= ibv_send_flags::IBV_SEND_INLINE.0;
        }
        if signaled {
            flags |= ibv_send_flags::IBV_SEND_SIGNALED.0;
        }
        self.elements[self.chained] = post.range.element();
        let element = self.elements.as_mut_ptr().wrapping_add(self.chained);
        let request = &mut self.requests[self.chained];
        request.wr_id = id.encode();
        request.next = std::ptr::null_mut();
        request.sg_list = element;
        request.num_sge = (post.range.length() > 0).into();
        request.send_flags = flags as c_uint;
        set_operation(request, post.operation);
        self.chained += 1;
        self.queue.push(post.token, signaled);
        self.calls.inline += u64::from(is_inline);
        self.calls.signaled += u64::from(signaled);
        if post.more { Ok(()) } else { self.ring_doorbell() }
    }

    /// Passes the chain to the driver in one call, which rings the doorbell.
    #[inline]
    fn ring_doorbell(&mut self) -> Result<(), PostError> {
        let count = std::mem::take(&mut self.chained);
        if count == 0 {
            return Ok(());
        }
        if self.queue.has_unsignaled_token() {
            // The batch ended early because the queue is full.
            self.requests[count - 1].send_flags |= ibv_send_flags::IBV_SEND_SIGNALED.0 as c_uint;
            self.queue.record_signal();
            self.calls.signaled += 1;
        }
        let first = self.requests.as_mut_ptr();
        for index in 1..count {
            self.requests[index - 1].next = first.wrapping_add(index);
        }
        let mut rejected = std::ptr::null_mut();
        // SAFETY: the chained requests and their elements are in boxes that are not moved, the driver copies them, and
        // the memory that they refer to stays registered while they are in flight or the device fails them.
        let result = unsafe { ibv_post_send(self.pair.as_ptr(), first, &mut rejected) };
        self.calls.calls += 1;
        self.calls.requests += count as u64;
        match result {
            0 => Ok(()),
            -1 => Err(self.post_rejection(
                count,
                io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
            )),
            number => Err(self.post_rejection(count, number.abs())),
        }
    }

    /// Returns the error for a chain that the driver did not accept. A single request can be posted again. If there
    /// were several requests, the caller does not know which ones were accepted, so the queue pair can no longer be
    /// used.
    #[cold]
    fn post_rejection(&mut self, count: usize, number: c_int) -> PostError {
        if count == 1 {
            self.queue.withdraw(1);
            return match number {
                libc::ENOMEM | libc::EAGAIN => PostError::Again,
                libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS | libc::EMSGSIZE => PostError::Refused(number),
                _ => PostError::Failed(number),
            };
        }
        PostError::Failed(number)
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: the queue pair exists and is not used afterwards.
        unsafe { ibv_destroy_qp(self.pair.as_ptr()) };
    }
}

fn empty_attributes() -> ibv_qp_attr {
    // SAFETY: all fields are integers and arrays of integers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

#[inline]
fn set_operation(request: &mut ibv_send_wr, operation: Operation) {
    let data = |immediate: u64| imm_data_invalidated_rkey_union_t {
        imm_data: (immediate as u32).to_be(),
    };
    let at = |remote: runner::transport::RemoteKey, offset: u64| wr_t {
        rdma: rdma_t {
            remote_addr: remote.address.wrapping_add(offset),
            rkey: remote.key as u32,
        },
    };
    match operation {
        Operation::Send { immediate } => {
            request.opcode = ibv_wr_opcode::IBV_WR_SEND_WITH_IMM;
            request.imm_data_invalidated_rkey_union = data(immediate);
        }
        Operation::Write {
            remote,
            remote_offset,
        } => {
            request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
            request.wr = at(remote, remote_offset);
        }
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => {
            request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE_WITH_IMM;
            request.imm_data_invalidated_rkey_union = data(immediate);
            request.wr = at(remote, remote_offset);
        }
        Operation::Read {
            remote,
            remote_offset,
        } => {
            request.opcode = ibv_wr_opcode::IBV_WR_RDMA_READ;
            request.wr = at(remote, remote_offset);
        }
    }
}
