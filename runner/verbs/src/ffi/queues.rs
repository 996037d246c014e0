//! The queues that all queue pairs of a rail share: the completion queue and the receive queues.

use super::{CallError, Device, RegisteredRange, check, check_created};
use crate::rules::request_id::RequestId;
use rdma_sys::{
    ibv_comp_channel, ibv_cq, ibv_create_comp_channel, ibv_create_cq, ibv_create_srq,
    ibv_destroy_comp_channel, ibv_destroy_cq, ibv_destroy_srq, ibv_post_srq_recv, ibv_recv_wr, ibv_sge,
    ibv_srq, ibv_srq_init_attr,
};
use std::ffi::c_int;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// Channel that reports completions to a file descriptor.
#[derive(Debug)]
pub(super) struct Channel {
    channel: NonNull<ibv_comp_channel>,
    _device: Arc<Device>,
}

impl Channel {
    pub(super) fn create(device: &Arc<Device>) -> Result<Self, CallError> {
        // SAFETY: the context is open.
        let channel = check_created("ibv_create_comp_channel", unsafe {
            ibv_create_comp_channel(device.context())
        })?;
        let channel = Self {
            channel,
            _device: Arc::clone(device),
        };
        // SAFETY: the descriptor is open, and the call changes only its flags.
        let result = unsafe { libc::fcntl(channel.descriptor(), libc::F_SETFL, libc::O_NONBLOCK) };
        if result < 0 {
            return Err(CallError::last("fcntl"));
        }
        Ok(channel)
    }

    pub(super) fn descriptor(&self) -> c_int {
        // SAFETY: the channel exists, and the field does not change.
        unsafe { self.channel.as_ref() }.fd
    }

    pub(super) fn as_ptr(&self) -> *mut ibv_comp_channel {
        self.channel.as_ptr()
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: the completion queue that uses the channel has already been destroyed.
        unsafe { ibv_destroy_comp_channel(self.channel.as_ptr()) };
    }
}

/// Completion queue.
#[derive(Debug)]
pub(super) struct CompletionQueue {
    queue: NonNull<ibv_cq>,
    // The channel is destroyed after the queue.
    channel: Option<Channel>,
    _device: Arc<Device>,
}

impl CompletionQueue {
    pub(super) fn create(device: &Arc<Device>, entries: usize, uses_wait: bool) -> Result<Self, CallError> {
        let channel = uses_wait.then(|| Channel::create(device)).transpose()?;
        let channel_pointer = channel.as_ref().map_or(std::ptr::null_mut(), Channel::as_ptr);
        let entries = c_int::try_from(entries).unwrap_or(c_int::MAX);
        // SAFETY: the context is open, and the channel, if any, exists until the queue is destroyed.
        let queue = unsafe {
            ibv_create_cq(
                device.context(),
                entries,
                std::ptr::null_mut(),
                channel_pointer,
                0,
            )
        };
        Ok(Self {
            queue: check_created("ibv_create_cq", queue)?,
            channel,
            _device: Arc::clone(device),
        })
    }

    pub(super) fn as_ptr(&self) -> *mut ibv_cq {
        self.queue.as_ptr()
    }

    pub(super) fn channel(&self) -> Option<&Channel> {
        self.channel.as_ref()
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: the queue pairs and receive queues that use the queue have already been destroyed, and all its events
        // have been acknowledged.
        unsafe { ibv_destroy_cq(self.queue.as_ptr()) };
    }
}

/// Receive queue that several queue pairs share.
#[derive(Debug)]
pub(super) struct ReceiveQueue {
    queue: NonNull<ibv_srq>,
    _device: Arc<Device>,
}

impl ReceiveQueue {
    pub(super) fn create(device: &Arc<Device>, depth: usize) -> Result<Self, CallError> {
        // SAFETY: all fields are integers and pointers, for which zero is valid.
        let mut attributes: ibv_srq_init_attr = unsafe { std::mem::zeroed() };
        attributes.attr.max_wr = u32::try_from(depth).unwrap_or(u32::MAX);
        attributes.attr.max_sge = 1;
        // SAFETY: the protection domain is open.
        let queue = unsafe { ibv_create_srq(device.domain(), &mut attributes) };
        Ok(Self {
            queue: check_created("ibv_create_srq", queue)?,
            _device: Arc::clone(device),
        })
    }

    pub(super) fn as_ptr(&self) -> *mut ibv_srq {
        self.queue.as_ptr()
    }

    /// Posts a receive into `range`.
    #[inline]
    pub(super) fn post(&self, range: RegisteredRange<'_>, token: u32) -> Result<(), c_int> {
        let mut element = range.element();
        self.post_request(RequestId::Receive { token }, Some(&mut element))
    }

    /// Posts a receive without memory, for a write with immediate data.
    #[inline]
    pub(super) fn post_immediate(&self) -> Result<(), c_int> {
        self.post_request(RequestId::Immediate, None)
    }

    #[inline]
    fn post_request(&self, id: RequestId, element: Option<&mut ibv_sge>) -> Result<(), c_int> {
        let mut request = ibv_recv_wr {
            wr_id: id.encode(),
            next: std::ptr::null_mut(),
            num_sge: element.is_some().into(),
            sg_list: element.map_or(std::ptr::null_mut(), std::ptr::from_mut),
        };
        let mut rejected = std::ptr::null_mut();
        // SAFETY: the queue exists, the driver copies the request, and its memory stays registered while it is in flight
        // or the device fails the receive.
        let result = unsafe { ibv_post_srq_recv(self.queue.as_ptr(), &mut request, &mut rejected) };
        match result {
            0 => Ok(()),
            -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
            number => Err(number.abs()),
        }
    }
}

impl Drop for ReceiveQueue {
    fn drop(&mut self) {
        // SAFETY: the queue pairs that use the queue have already been destroyed.
        unsafe { ibv_destroy_srq(self.queue.as_ptr()) };
    }
}

/// Checks that a posted receive was accepted.
pub(super) fn check_posted(result: Result<(), c_int>) -> Result<(), CallError> {
    check("ibv_post_srq_recv", result.err().unwrap_or(0))
}
