//! Posts. Nothing here allocates, locks or logs.
//!
//! Memory that is posted belongs to a region of this very rail, which is checked, and regions live as long as the
//! endpoint. So the memory outlives the operation whatever the caller drops.

use super::rail::{PostedReceive, Rail};
use super::region::Span;
use crate::transport::libfabric::rules::errors::post_error;
use crate::transport::{Peer, PostError};
use libc::iovec;
use libfabric_sys::bindings::{
    FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_EBUSY, FI_EINVAL, FI_EMSGSIZE, FI_EOPNOTSUPP, FI_MORE,
    FI_REMOTE_CQ_DATA, fi_addr_t, fi_msg, fi_msg_rma, fi_rma_iov,
};
use libfabric_sys::calls;
use libfabric_sys::newer::FI_ADDR_UNSPEC;
use std::ffi::c_void;
use std::sync::Arc;

/// Where an RMA operation goes.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::libfabric) struct Destination {
    pub peer: Peer,
    /// Address as the peer's region counts.
    pub address: u64,
    pub key: u64,
}

impl Rail {
    /// A send with immediate data.
    #[inline]
    pub(in crate::transport::libfabric) fn send(
        &mut self,
        span: Span<'_>,
        peer: Peer,
        immediate: u64,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        let address = self.admit(&span, peer, self.limits.message)?;
        let slot = self.take_post_slot(token)?;
        let (endpoint, context) = (self.objects.endpoint.as_ptr(), self.objects.context(slot));
        let code = if more {
            let (local, mut descriptor) = (local(&span), span.descriptor);
            let message = message(&local, &mut descriptor, address, context, immediate);
            // SAFETY: open endpoint; the message lives for the call, its memory for the operation.
            unsafe { calls::fi_sendmsg(endpoint, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE) }
        } else {
            let (buffer, length) = (span.pointer.cast_const().cast(), span.length);
            // SAFETY: as above.
            unsafe {
                calls::fi_senddata(
                    endpoint,
                    buffer,
                    length,
                    span.descriptor,
                    immediate,
                    address,
                    context,
                )
            }
        };
        self.posted(code, slot)
    }

    /// A send with immediate data whose memory is free on return and that completes without a sign.
    #[inline]
    pub(in crate::transport::libfabric) fn inject_send(
        &mut self,
        span: Span<'_>,
        peer: Peer,
        immediate: u64,
    ) -> Result<(), PostError> {
        let address = self.admit_injection(&span, peer, self.limits.inject_send)?;
        let (endpoint, buffer) = (self.objects.endpoint.as_ptr(), span.pointer.cast_const().cast());
        // SAFETY: open endpoint; the memory lives for the call, and the length is within the provider's limit.
        result(unsafe { calls::fi_injectdata(endpoint, buffer, span.length, immediate, address) })
    }

    /// A write without a sign at the target; its completion says that the data is there.
    #[inline]
    pub(in crate::transport::libfabric) fn write(
        &mut self,
        span: Span<'_>,
        to: Destination,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        let flags = FI_DELIVERY_COMPLETE | FI_COMPLETION | if more { FI_MORE } else { 0 };
        self.write_message(span, to, 0, token, flags)
    }

    /// A write with immediate data.
    #[inline]
    pub(in crate::transport::libfabric) fn write_immediate(
        &mut self,
        span: Span<'_>,
        to: Destination,
        immediate: u64,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        if more {
            return self.write_message(
                span,
                to,
                immediate,
                token,
                FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE,
            );
        }
        let address = self.admit(&span, to.peer, self.limits.rma)?;
        let slot = self.take_post_slot(token)?;
        let (endpoint, context) = (self.objects.endpoint.as_ptr(), self.objects.context(slot));
        let (buffer, length) = (span.pointer.cast_const().cast(), span.length);
        let (descriptor, target, key) = (span.descriptor, to.address, to.key);
        // SAFETY: open endpoint; the memory lives for the operation.
        let code = unsafe {
            calls::fi_writedata(
                endpoint, buffer, length, descriptor, immediate, address, target, key, context,
            )
        };
        self.posted(code, slot)
    }

    #[inline]
    fn write_message(
        &mut self,
        span: Span<'_>,
        to: Destination,
        immediate: u64,
        token: u32,
        flags: u64,
    ) -> Result<(), PostError> {
        let address = self.admit(&span, to.peer, self.limits.rma)?;
        let slot = self.take_post_slot(token)?;
        let context = self.objects.context(slot);
        let (local, mut descriptor) = (local(&span), span.descriptor);
        let remote = fi_rma_iov {
            addr: to.address,
            len: span.length,
            key: to.key,
        };
        let message = rma_message(&local, &mut descriptor, &remote, address, context, immediate);
        // SAFETY: open endpoint; the message lives for the call, its memory for the operation.
        let code = unsafe { calls::fi_writemsg(self.objects.endpoint.as_ptr(), &message, flags) };
        self.posted(code, slot)
    }

    /// A write with immediate data whose memory is free on return and that completes without a sign.
    #[inline]
    pub(in crate::transport::libfabric) fn inject_write_immediate(
        &mut self,
        span: Span<'_>,
        to: Destination,
        immediate: u64,
    ) -> Result<(), PostError> {
        let address = self.admit_injection(&span, to.peer, self.limits.inject_write)?;
        let (endpoint, buffer) = (self.objects.endpoint.as_ptr(), span.pointer.cast_const().cast());
        let (length, target, key) = (span.length, to.address, to.key);
        // SAFETY: open endpoint; the memory lives for the call, and the length is within the provider's limit.
        result(unsafe {
            calls::fi_inject_writedata(endpoint, buffer, length, immediate, address, target, key)
        })
    }

    /// A read.
    #[inline]
    pub(in crate::transport::libfabric) fn read(
        &mut self,
        span: Span<'_>,
        from: Destination,
        token: u32,
        more: bool,
    ) -> Result<(), PostError> {
        let address = self.admit(&span, from.peer, self.limits.rma)?;
        let slot = self.take_post_slot(token)?;
        let (endpoint, context) = (self.objects.endpoint.as_ptr(), self.objects.context(slot));
        let code = if more {
            let (local, mut descriptor) = (local(&span), span.descriptor);
            let remote = fi_rma_iov {
                addr: from.address,
                len: span.length,
                key: from.key,
            };
            let message = rma_message(&local, &mut descriptor, &remote, address, context, 0);
            // SAFETY: open endpoint; the message lives for the call, its memory for the operation.
            unsafe { calls::fi_readmsg(endpoint, &message, FI_COMPLETION | FI_MORE) }
        } else {
            let (buffer, length) = (span.pointer.cast(), span.length);
            let (descriptor, source, key) = (span.descriptor, from.address, from.key);
            // SAFETY: as above.
            unsafe {
                calls::fi_read(
                    endpoint, buffer, length, descriptor, address, source, key, context,
                )
            }
        };
        self.posted(code, slot)
    }

    /// A receive for one message of any peer.
    #[inline]
    pub(in crate::transport::libfabric) fn receive(
        &mut self,
        span: Span<'_>,
        token: u32,
    ) -> Result<(), PostError> {
        self.own(&span)?;
        let token = usize::try_from(token).ok().filter(|token| *token < self.depth);
        let token = token.ok_or(PostError::Refused(FI_EINVAL))?;
        let slot = self.take_slot(self.depth + token)?;
        let receive = PostedReceive {
            pointer: span.pointer,
            length: span.length,
            descriptor: span.descriptor,
        };
        self.receives[token] = receive;
        let code = self.call_receive(receive, slot);
        self.posted(code, slot)
    }

    #[inline]
    pub(super) fn call_receive(&mut self, receive: PostedReceive, slot: usize) -> isize {
        let context = self.objects.context(slot);
        let PostedReceive {
            pointer,
            length,
            descriptor,
        } = receive;
        // SAFETY: open endpoint; the memory is that of a region of this rail and lives as long as the rail.
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

    /// Refuses memory of another rail: nothing would keep it alive.
    #[inline]
    fn own(&self, span: &Span<'_>) -> Result<(), PostError> {
        if std::ptr::eq(span.rail, Arc::as_ptr(&self.objects)) {
            Ok(())
        } else {
            Err(PostError::Refused(FI_EINVAL))
        }
    }

    /// The same for an injection, which copies with the processor. Providers check its length with assertions that
    /// releases leave out, so a long one would overwrite their memory.
    #[inline]
    fn admit_injection(&self, span: &Span<'_>, peer: Peer, longest: usize) -> Result<fi_addr_t, PostError> {
        if span.device {
            return Err(PostError::Refused(FI_EOPNOTSUPP));
        }
        self.admit(span, peer, longest)
    }

    /// The peer's address, where memory, peer and length may be posted.
    #[inline]
    fn admit(&self, span: &Span<'_>, peer: Peer, longest: usize) -> Result<fi_addr_t, PostError> {
        self.own(span)?;
        if span.length > longest {
            return Err(PostError::Refused(FI_EMSGSIZE));
        }
        self.peers.get(peer).copied().ok_or(PostError::Refused(FI_EINVAL))
    }

    #[inline]
    fn take_post_slot(&mut self, token: u32) -> Result<usize, PostError> {
        let slot = usize::try_from(token).ok().filter(|slot| *slot < self.depth);
        self.take_slot(slot.ok_or(PostError::Refused(FI_EINVAL))?)
    }

    #[inline]
    fn take_slot(&mut self, slot: usize) -> Result<usize, PostError> {
        if std::mem::replace(&mut self.in_flight[slot], true) {
            return Err(PostError::Refused(FI_EBUSY));
        }
        Ok(slot)
    }

    /// Gives the slot back where the post was not taken.
    #[inline]
    fn posted(&mut self, code: isize, slot: usize) -> Result<(), PostError> {
        self.in_flight[slot] = code == 0;
        result(code)
    }
}

#[inline]
fn result(code: isize) -> Result<(), PostError> {
    if code == 0 { Ok(()) } else { Err(post_error(code)) }
}

#[inline]
fn local(span: &Span<'_>) -> iovec {
    iovec {
        iov_base: span.pointer.cast(),
        iov_len: span.length,
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
