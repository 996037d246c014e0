//! Posts operations and receives. Does not allocate, lock or log.
//!
//! Every post checks that its memory belongs to a region of the same rail. Regions live as long as the endpoint, so the
//! memory outlives the operation even if the caller drops the region.

use super::memory::RegisteredRange;
use super::rail::{PostedReceive, Rail};
use crate::transport::libfabric::rules::errors::post_error;
use crate::transport::{Peer, PostError};
use libc::iovec;
use libfabric_sys::bindings::{
    FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_EBUSY, FI_EINVAL, FI_EMSGSIZE, FI_EOPNOTSUPP, FI_MORE,
    FI_REMOTE_CQ_DATA, fi_addr_t, fi_msg, fi_msg_rma, fi_rma_iov,
};
use libfabric_sys::calls;
use libfabric_sys::newer_constants::FI_ADDR_UNSPEC;
use std::ffi::c_void;
use std::sync::Arc;

/// Remote memory of an RMA operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::libfabric) struct RemoteTarget {
    pub peer: Peer,
    /// Virtual address, or offset from the start of the region, depending on the addressing mode of the peer's region.
    pub address: u64,
    pub key: u64,
}

impl Rail {
    /// Sends a message with immediate data.
    #[inline]
    pub(in crate::transport::libfabric) fn send(
        &mut self,
        range: RegisteredRange<'_>,
        peer: Peer,
        immediate: u64,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        let address = self.validate(&range, peer, self.limits.message)?;
        let slot = self.reserve_post_slot(token)?;
        let (endpoint, context) = (self.objects.endpoint.as_ptr(), self.objects.context(slot));
        let code = if more {
            let (local, mut descriptor) = (local_iovec(&range), range.descriptor);
            let message = message(&local, &mut descriptor, address, context, immediate);
            // SAFETY: the endpoint is open; the message is valid during the call, and its memory until the completion.
            unsafe { calls::fi_sendmsg(endpoint, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE) }
        } else {
            let (buffer, length) = (range.pointer.cast_const().cast(), range.length);
            // SAFETY: as above.
            unsafe {
                calls::fi_senddata(
                    endpoint,
                    buffer,
                    length,
                    range.descriptor,
                    immediate,
                    address,
                    context,
                )
            }
        };
        self.finish_post(code, slot)
    }

    /// Sends a message with immediate data. The memory is reusable on return, and no completion follows.
    #[inline]
    pub(in crate::transport::libfabric) fn inject_send(
        &mut self,
        range: RegisteredRange<'_>,
        peer: Peer,
        immediate: u64,
    ) -> Result<(), PostError> {
        let address = self.validate_injection(&range, peer, self.limits.inject_send)?;
        let (endpoint, buffer) = (self.objects.endpoint.as_ptr(), range.pointer.cast_const().cast());
        // SAFETY: the endpoint is open; the memory is valid during the call, and the length is within the provider's
        // limit.
        post_result(unsafe { calls::fi_injectdata(endpoint, buffer, range.length, immediate, address) })
    }

    /// Writes to remote memory without a completion at the target. The local completion means that the data is in the
    /// target's memory.
    #[inline]
    pub(in crate::transport::libfabric) fn write(
        &mut self,
        range: RegisteredRange<'_>,
        to: RemoteTarget,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        let flags = FI_DELIVERY_COMPLETE | FI_COMPLETION | if more { FI_MORE } else { 0 };
        self.write_message(range, to, 0, token, flags)
    }

    /// Writes to remote memory with immediate data.
    #[inline]
    pub(in crate::transport::libfabric) fn write_immediate(
        &mut self,
        range: RegisteredRange<'_>,
        to: RemoteTarget,
        immediate: u64,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        if more {
            return self.write_message(
                range,
                to,
                immediate,
                token,
                FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE,
            );
        }
        let address = self.validate(&range, to.peer, self.limits.rma)?;
        let slot = self.reserve_post_slot(token)?;
        let (endpoint, context) = (self.objects.endpoint.as_ptr(), self.objects.context(slot));
        let (buffer, length) = (range.pointer.cast_const().cast(), range.length);
        let (descriptor, target, key) = (range.descriptor, to.address, to.key);
        // SAFETY: the endpoint is open, and the memory is valid until the completion.
        let code = unsafe {
            calls::fi_writedata(
                endpoint, buffer, length, descriptor, immediate, address, target, key, context,
            )
        };
        self.finish_post(code, slot)
    }

    #[inline]
    fn write_message(
        &mut self,
        range: RegisteredRange<'_>,
        to: RemoteTarget,
        immediate: u64,
        token: u32,
        flags: u64,
    ) -> Result<(), PostError> {
        let address = self.validate(&range, to.peer, self.limits.rma)?;
        let slot = self.reserve_post_slot(token)?;
        let context = self.objects.context(slot);
        let (local, mut descriptor) = (local_iovec(&range), range.descriptor);
        let remote = fi_rma_iov {
            addr: to.address,
            len: range.length,
            key: to.key,
        };
        let message = rma_message(&local, &mut descriptor, &remote, address, context, immediate);
        // SAFETY: the endpoint is open; the message is valid during the call, and its memory until the completion.
        let code = unsafe { calls::fi_writemsg(self.objects.endpoint.as_ptr(), &message, flags) };
        self.finish_post(code, slot)
    }

    /// Writes to remote memory with immediate data. The local memory is reusable on return, and no completion follows.
    #[inline]
    pub(in crate::transport::libfabric) fn inject_write_immediate(
        &mut self,
        range: RegisteredRange<'_>,
        to: RemoteTarget,
        immediate: u64,
    ) -> Result<(), PostError> {
        let address = self.validate_injection(&range, to.peer, self.limits.inject_write)?;
        let (endpoint, buffer) = (self.objects.endpoint.as_ptr(), range.pointer.cast_const().cast());
        let (length, target, key) = (range.length, to.address, to.key);
        // SAFETY: the endpoint is open; the memory is valid during the call, and the length is within the provider's
        // limit.
        post_result(unsafe {
            calls::fi_inject_writedata(endpoint, buffer, length, immediate, address, target, key)
        })
    }

    /// Reads remote memory.
    #[inline]
    pub(in crate::transport::libfabric) fn read(
        &mut self,
        range: RegisteredRange<'_>,
        from: RemoteTarget,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        let address = self.validate(&range, from.peer, self.limits.rma)?;
        let slot = self.reserve_post_slot(token)?;
        let (endpoint, context) = (self.objects.endpoint.as_ptr(), self.objects.context(slot));
        let code = if more {
            let (local, mut descriptor) = (local_iovec(&range), range.descriptor);
            let remote = fi_rma_iov {
                addr: from.address,
                len: range.length,
                key: from.key,
            };
            let message = rma_message(&local, &mut descriptor, &remote, address, context, 0);
            // SAFETY: the endpoint is open; the message is valid during the call, and its memory until the completion.
            unsafe { calls::fi_readmsg(endpoint, &message, FI_COMPLETION | FI_MORE) }
        } else {
            let (buffer, length) = (range.pointer.cast(), range.length);
            let (descriptor, source, key) = (range.descriptor, from.address, from.key);
            // SAFETY: as above.
            unsafe {
                calls::fi_read(
                    endpoint, buffer, length, descriptor, address, source, key, context,
                )
            }
        };
        self.finish_post(code, slot)
    }

    /// Posts a receive for one message from any peer.
    #[inline]
    pub(in crate::transport::libfabric) fn post_receive(
        &mut self,
        range: RegisteredRange<'_>,
        token: u32,
    ) -> Result<(), PostError> {
        self.check_owner(&range)?;
        let token = usize::try_from(token).ok().filter(|token| *token < self.depth);
        let token = token.ok_or(PostError::Refused(FI_EINVAL))?;
        let slot = self.reserve_slot(self.depth + token)?;
        let receive = PostedReceive {
            pointer: range.pointer,
            length: range.length,
            descriptor: range.descriptor,
        };
        self.receives[token] = receive;
        let code = self.call_fi_recv(receive, slot);
        self.finish_post(code, slot)
    }

    #[inline]
    pub(super) fn call_fi_recv(&mut self, receive: PostedReceive, slot: usize) -> isize {
        let context = self.objects.context(slot);
        let PostedReceive {
            pointer,
            length,
            descriptor,
        } = receive;
        // SAFETY: the endpoint is open, and the memory belongs to a region of this rail, which lives as long as the
        // rail.
        unsafe {
            calls::fi_recv(
                self.objects.endpoint.as_ptr(),
                pointer.cast(),
                length,
                descriptor,
                FI_ADDR_UNSPEC,
                context,
            )
        }
    }

    /// Rejects memory registered on another rail, because this rail would not keep it alive.
    #[inline]
    fn check_owner(&self, range: &RegisteredRange<'_>) -> Result<(), PostError> {
        if std::ptr::eq(range.rail, Arc::as_ptr(&self.objects)) {
            Ok(())
        } else {
            Err(PostError::Refused(FI_EINVAL))
        }
    }

    /// Runs the checks in `validate`, and rejects device memory, which the CPU cannot read.
    ///
    /// `validate` must check the length, because providers check it only with assertions. Release builds omit
    /// assertions, so an injection above the limit would overrun the provider's buffer.
    #[inline]
    fn validate_injection(
        &self,
        range: &RegisteredRange<'_>,
        peer: Peer,
        max_bytes: usize,
    ) -> Result<fi_addr_t, PostError> {
        if range.is_device {
            return Err(PostError::Refused(FI_EOPNOTSUPP));
        }
        self.validate(range, peer, max_bytes)
    }

    /// Checks the memory, length and peer of a post. Returns the peer's address.
    #[inline]
    fn validate(
        &self,
        range: &RegisteredRange<'_>,
        peer: Peer,
        max_bytes: usize,
    ) -> Result<fi_addr_t, PostError> {
        self.check_owner(range)?;
        if range.length > max_bytes {
            return Err(PostError::Refused(FI_EMSGSIZE));
        }
        self.peers.get(peer).copied().ok_or(PostError::Refused(FI_EINVAL))
    }

    #[inline]
    fn reserve_post_slot(&mut self, token: u32) -> Result<usize, PostError> {
        let slot = usize::try_from(token).ok().filter(|slot| *slot < self.depth);
        self.reserve_slot(slot.ok_or(PostError::Refused(FI_EINVAL))?)
    }

    #[inline]
    fn reserve_slot(&mut self, slot: usize) -> Result<usize, PostError> {
        if std::mem::replace(&mut self.in_flight[slot], true) {
            return Err(PostError::Refused(FI_EBUSY));
        }
        Ok(slot)
    }

    /// Releases the slot if the library did not accept the post.
    #[inline]
    fn finish_post(&mut self, code: isize, slot: usize) -> Result<(), PostError> {
        self.in_flight[slot] = code == 0;
        post_result(code)
    }
}

#[inline]
fn post_result(code: isize) -> Result<(), PostError> {
    if code == 0 { Ok(()) } else { Err(post_error(code)) }
}

#[inline]
fn local_iovec(range: &RegisteredRange<'_>) -> iovec {
    iovec {
        iov_base: range.pointer.cast(),
        iov_len: range.length,
    }
}

#[inline]
fn message(
    local: &iovec,
    descriptor: &mut *mut c_void,
    address: fi_addr_t,
    context: *mut c_void,
    immediate: u64,
) -> fi_msg {
    fi_msg {
        msg_iov: local,
        desc: descriptor,
        iov_count: 1,
        addr: address,
        context,
        data: immediate,
    }
}

#[inline]
fn rma_message(
    local: &iovec,
    descriptor: &mut *mut c_void,
    remote: &fi_rma_iov,
    address: fi_addr_t,
    context: *mut c_void,
    immediate: u64,
) -> fi_msg_rma {
    fi_msg_rma {
        msg_iov: local,
        desc: descriptor,
        iov_count: 1,
        addr: address,
        rma_iov: remote,
        rma_iov_count: 1,
        context,
        data: immediate,
    }
}
