//! Completes writes only once the data is in the target's memory.
//!
//! A put completes when its local memory can be reused. An endpoint flush completes when all earlier puts have arrived.
//! Several puts share a flush: a flush is posted when the puts to a peer since its last flush total at least
//! [`FLUSH_BYTES`], or else by the next poll. Several flushes may be in flight.

use super::callbacks::on_completion;
use super::operations::{FlushState, PostState};
use super::rail::{MAX_FLUSHES, NOTIFICATION_ID, Rail};
use crate::transport::ucx::rules::errors::post_error;
use crate::transport::{Peer, PostError};
use ucx_sys::bindings::{
    UCP_AM_SEND_FLAG_EAGER, UCP_OP_ATTR_FIELD_CALLBACK, UCP_OP_ATTR_FIELD_FLAGS, UCP_OP_ATTR_FIELD_USER_DATA,
    ucs_status_t,
};
use ucx_sys::{RequestState, request_state};

/// Number of put bytes after which a flush is posted without waiting for the next poll.
const FLUSH_BYTES: usize = 64 * 1024;

impl Rail {
    /// Records that a put was posted. Calls [`Self::flush_all`] if at least [`FLUSH_BYTES`] have been put to the peer
    /// since its last flush.
    #[inline]
    pub(super) fn record_put(&mut self, peer: Peer, token: u32, length: usize) {
        let writes = &mut self.endpoints[peer].writes;
        let was_unflushed = writes.is_unflushed();
        writes.record_put(token, length);
        let is_due = writes.unflushed_bytes() >= FLUSH_BYTES;
        if !was_unflushed && !self.unflushed.contains(&peer) {
            self.unflushed.push(peer);
        }
        if is_due {
            self.flush_all();
        }
    }

    /// Flushes the endpoints that have had puts since their last flush, as long as a slot is free.
    #[inline]
    pub(super) fn flush_all(&mut self) {
        while !self.unflushed.is_empty() {
            let Some(slot) = self.free_flushes.pop() else {
                return;
            };
            match self.unflushed.pop() {
                Some(peer) if self.endpoints[peer].writes.is_unflushed() => self.flush(peer, slot, false),
                // A requested flush has already covered the writes.
                _ => self.free_flushes.push(slot),
            }
        }
    }

    /// Flushes the endpoint to `peer`, whether or not there have been puts since its last flush.
    pub(in crate::transport::ucx) fn post_flush(&mut self, peer: Peer) -> Result<(), PostError> {
        if peer >= self.endpoints.len() {
            return Err(PostError::Refused(libc::EINVAL));
        }
        let slot = self.free_flushes.pop().ok_or(PostError::Again)?;
        self.requested_flushes += 1;
        self.flush(peer, slot, true);
        Ok(())
    }

    fn flush(&mut self, peer: Peer, slot: u32, is_requested: bool) {
        let endpoint = &mut self.endpoints[peer];
        let end = endpoint.writes.record_flush();
        let handle = endpoint.handle;
        self.flushes[slot as usize] = FlushState {
            peer,
            end,
            is_requested,
        };
        let origin = &self.objects.origins[2 * self.config.depth + slot as usize];
        let mut param = super::posting::empty_param();
        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        param.cb.send = Some(on_completion);
        param.user_data = origin.as_user_data();
        let flush = self.objects.library().functions().ucp_ep_flush_nbx;
        // SAFETY: the endpoint is open, and the origin lives longer than the worker.
        match request_state(unsafe { flush(handle, &param) }) {
            RequestState::InProgress(_) => {}
            RequestState::Completed => self.handle_flush(slot, 0),
            RequestState::Failed(status) => self.handle_flush(slot, status),
        }
    }

    /// Handles the completion of a flush.
    pub(super) fn handle_flush(&mut self, slot: u32, status: ucs_status_t) {
        debug_assert!(self.free_flushes.len() < MAX_FLUSHES);
        self.free_flushes.push(slot);
        let FlushState {
            peer,
            end,
            is_requested,
        } = self.flushes[slot as usize];
        self.requested_flushes -= u32::from(is_requested);
        if status < 0 {
            self.record_failure("completion", status, format_args!("a flush"));
            return;
        }
        while let Some(token) = self.endpoints[peer].writes.next_covered(end) {
            if let PostState::Write { flushed, .. } = &mut self.posts[token as usize] {
                *flushed = true;
            }
            self.advance_write(token);
        }
    }

    /// Handles the local completion of a put.
    #[inline]
    pub(super) fn handle_put(&mut self, token: u32) {
        if let PostState::Write { written, .. } = &mut self.posts[token as usize] {
            *written = true;
        }
        self.advance_write(token);
    }

    /// Completes a write, or notifies the peer, if the put and its flush have completed.
    fn advance_write(&mut self, token: u32) {
        let PostState::Write {
            peer,
            written: true,
            flushed: true,
            immediate,
        } = self.posts[token as usize]
        else {
            return;
        };
        match immediate {
            None => self.complete_post(token),
            Some(immediate) => self.notify(peer, token, immediate),
        }
    }

    /// Sends a write's immediate data in the header of an active message, after the write's data has arrived.
    fn notify(&mut self, peer: Peer, token: u32, immediate: u64) {
        self.posts[token as usize] = PostState::Single;
        let header = self.objects.headers[token as usize].get();
        // SAFETY: no operation reads the header: the previous one with this token has completed.
        unsafe { header.write(immediate.to_le()) };
        let mut param = super::posting::empty_param();
        param.op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_AM_SEND_FLAG_EAGER;
        param.cb.send = Some(on_completion);
        param.user_data = self.objects.origins[token as usize].as_user_data();
        let send = self.objects.library().functions().ucp_am_send_nbx;
        let endpoint = self.endpoints[peer].handle;
        // SAFETY: the endpoint is open, the header belongs to the worker's objects and is not written before the
        // completion, and the payload is empty.
        let state = request_state(unsafe {
            send(
                endpoint,
                NOTIFICATION_ID,
                header.cast_const().cast(),
                size_of::<u64>(),
                std::ptr::null(),
                0,
                &param,
            )
        });
        match state {
            RequestState::InProgress(_) => {}
            RequestState::Completed => self.complete_post(token),
            RequestState::Failed(status) => {
                self.posts[token as usize] = PostState::Idle;
                let error = post_error(status);
                self.record_failure(
                    "ucp_am_send_nbx",
                    status,
                    format_args!("a write notification ({error:?})"),
                );
            }
        }
    }
}
