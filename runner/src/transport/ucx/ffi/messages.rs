//! Sends and receives active messages with a payload. An active message has no tag. Its header is the immediate data,
//! and its payload is received into the oldest posted receive.
//!
//! The callback copies the payload to the receive. A message that arrives before its receive is posted waits for it,
//! and so does the peer's request to fetch a payload (rendezvous).

use super::callbacks::on_payload_fetched;
use super::events::{ArrivedMessage, PostedReceive};
use super::memory::RegisteredRange;
use super::operations::{PostState, ReceiveState};
use super::payload::{Descriptor, Payload};
use super::rail::{MESSAGE_ID, Rail};
use crate::transport::{Peer, PostError};
use ucx_sys::bindings::{UCS_ERR_MESSAGE_TRUNCATED, ucs_status_t};
use ucx_sys::{RequestState, request_state};

impl Rail {
    /// Sends an active message whose header is the immediate data.
    #[inline]
    pub(in crate::transport::ucx) fn send_active_message(
        &mut self,
        range: RegisteredRange<'_>,
        peer: Peer,
        immediate: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let endpoint = self.validate(&range, peer)?;
        self.reserve_post(token, PostState::Single)?;
        let header = self.objects.headers[token as usize].get();
        // SAFETY: no operation reads the header: the previous one with this token has completed.
        unsafe { header.write(immediate.to_le()) };
        let param = self.post_param(&range, token);
        let send = self.objects.library().functions().ucp_am_send_nbx;
        // SAFETY: the endpoint is open, the header belongs to the worker's objects and is not written before the
        // completion, and the memory and the origin are valid until the completion.
        let state = request_state(unsafe {
            send(
                endpoint,
                MESSAGE_ID,
                header.cast_const().cast(),
                size_of::<u64>(),
                range.pointer.cast_const().cast(),
                range.length,
                &param,
            )
        });
        self.handle_post_result(token, state)
    }

    /// Posts a receive for one active message from any peer.
    #[inline]
    pub(in crate::transport::ucx) fn receive_active_message(
        &mut self,
        range: RegisteredRange<'_>,
        token: u32,
    ) -> Result<(), PostError> {
        self.check_owner(&range)?;
        if range.is_device {
            // The CPU copies the payload.
            return Err(PostError::Refused(libc::EOPNOTSUPP));
        }
        let receive = self
            .receives
            .get_mut(token as usize)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        if *receive != ReceiveState::Idle {
            return Err(PostError::Refused(libc::EBUSY));
        }
        *receive = ReceiveState::Posting;
        let receive = PostedReceive {
            token,
            pointer: range.pointer,
            length: range.length,
            handle: range.handle,
        };
        // SAFETY: the exclusive reference guarantees that no other thread uses the worker, and this is not a callback.
        // The receive is host memory in a region of this rail, which lives as long as the worker.
        unsafe { self.objects.events.push_receive(receive) };
        self.match_messages();
        Ok(())
    }

    /// Matches messages with receives, in order of arrival.
    #[inline]
    pub(super) fn match_messages(&mut self) {
        // SAFETY: the exclusive reference guarantees that no other thread uses the worker, and this is not a callback.
        while let Some((receive, message)) = unsafe { self.objects.events.next_match() } {
            self.take_payload(&receive, message);
        }
    }

    /// Receives the payload of `message`, which is the oldest message that waited.
    fn take_payload(&mut self, receive: &PostedReceive, message: ArrivedMessage) {
        let immediate = message.immediate;
        let length = message.payload.length();
        if length > receive.length {
            self.release_payload(message.payload);
            return self.receive_failed(receive.token, "completion", UCS_ERR_MESSAGE_TRUNCATED);
        }
        let mut target = receive.pointer;
        let mut copy = |part: &[u8]| {
            // SAFETY: `receive_active_message` fulfilled the contract of `push_receive`, and the receive is at least as
            // long as the payload. They do not overlap, because neither the library nor the queues keep payloads in
            // regions.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), target, part.len()) };
            target = target.wrapping_add(part.len());
        };
        // `ucp_am_recv_data_nbx` of UCX 1.13, called outside the callback, releases neither an eager payload nor the
        // descriptor of an empty one.
        match message.payload {
            Payload::Rendezvous(descriptor) if length > 0 => {
                return self.fetch(receive, &descriptor, immediate);
            }
            Payload::Rendezvous(descriptor) => self.release_descriptor(descriptor),
            Payload::Kept(descriptor) => {
                // SAFETY: the library keeps the payload in host memory until the release below.
                copy(unsafe { descriptor.bytes() });
                self.release_descriptor(descriptor);
            }
            // SAFETY: as in `match_messages`, and `copy` uses neither the library nor the queues.
            Payload::Copied(length) => unsafe { self.objects.events.take_copy(length, copy) },
        }
        self.report_received(receive.token, immediate, length);
    }

    /// Completes a receive. Its event must not overtake the events of earlier messages.
    fn report_received(&mut self, token: u32, immediate: u64, length: usize) {
        // SAFETY: as in `match_messages`.
        unsafe { self.objects.events.push_received(token, immediate, length) };
    }

    /// Fetches a rendezvous payload from the peer. The receive must be long enough.
    fn fetch(&mut self, receive: &PostedReceive, descriptor: &Descriptor, immediate: u64) {
        let length = descriptor.length().min(receive.length);
        let token = receive.token;
        self.receives[token as usize] = ReceiveState::Fetching { immediate, length };
        let mut param = self.param(receive.handle, self.config.depth + token as usize);
        param.cb.recv_am = Some(on_payload_fetched);
        let fetch = self.objects.library().functions().ucp_am_recv_data_nbx;
        // SAFETY: the descriptor came from the callback of this worker and is taken here, so it has not been used. The
        // memory has at least `length` bytes and, like the origin, is valid until the completion.
        let state = request_state(unsafe {
            fetch(
                self.objects.worker.handle(),
                descriptor.data().as_ptr(),
                receive.pointer.cast(),
                length,
                &param,
            )
        });
        match state {
            RequestState::InProgress(_) => {}
            RequestState::Completed => self.report_received(token, immediate, length),
            RequestState::Failed(status) => self.receive_failed(token, "ucp_am_recv_data_nbx", status),
        }
    }

    /// Releases the token of a receive, and records its failure.
    #[cold]
    pub(super) fn receive_failed(&mut self, token: u32, call: &'static str, status: ucs_status_t) {
        self.receives[token as usize] = ReceiveState::Idle;
        let receive = format_args!("the receive with token {token}");
        self.record_failure(call, status, receive);
    }

    /// Releases a payload, which belongs to the oldest message that waited.
    fn release_payload(&mut self, payload: Payload) {
        match payload {
            // SAFETY: as in `match_messages`, and the closure does nothing.
            Payload::Copied(length) => unsafe { self.objects.events.take_copy(length, |_| ()) },
            Payload::Kept(descriptor) | Payload::Rendezvous(descriptor) => {
                self.release_descriptor(descriptor)
            }
        }
    }

    fn release_descriptor(&mut self, descriptor: Descriptor) {
        let objects = &self.objects;
        let release = objects.library().functions().ucp_am_data_release;
        // SAFETY: the library keeps the payload of this worker until this call, and nothing uses it afterwards, because the
        // only value that denotes it is taken here.
        unsafe { release(objects.worker.handle(), descriptor.data().as_ptr()) };
    }

    /// Removes the posted receives, and releases the payloads of messages for which no receive was posted.
    pub(super) fn release_messages(&mut self) {
        // SAFETY: as in `match_messages`.
        unsafe { self.objects.events.remove_receives() };
        // SAFETY: as above.
        while let Some(message) = unsafe { self.objects.events.pop_message() } {
            self.release_payload(message.payload);
        }
    }
}
