//! Completes writes only once the data is in the target's memory.
//!
//! A put completes when its local memory can be reused. An endpoint flush completes when all earlier puts have arrived.
//! Several puts share a flush: the next poll posts a flush for all puts to a peer since its last flush, unless
//! [`MAX_FLUSHES_PER_PEER`] flushes to the peer are in flight. In this case, the puts wait until one of them completes.

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

/// Number of flushes in flight to a peer, including requested ones, at which puts wait until one of them completes. With a
/// flush for each put, the throughput of puts of 64 KiB over tcp was 11 percent lower.
const MAX_FLUSHES_PER_PEER: usize = 4;

/// Whether the puts to a peer need a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlushNeed {
    /// There are no puts, or a requested flush covers them.
    None,
    /// They need a flush after one of the flushes in flight has completed.
    Later,
    /// They need a flush now.
    Now,
}

impl Rail {
    /// Records that a put was posted.
    #[inline]
    pub(super) fn record_put(&mut self, peer: Peer, token: u32) {
        let writes = &mut self.endpoints[peer].writes;
        let was_unflushed = writes.is_unflushed();
        writes.record_put(token);
        if !was_unflushed && !self.unflushed.contains(&peer) {
            self.unflushed.push(peer);
        }
    }

    /// Flushes the endpoints whose puts need a flush that can be posted now.
    #[inline]
    pub(super) fn flush_all(&mut self) {
        let mut index = 0;
        while let Some(&peer) = self.unflushed.get(index) {
            match self.flush_need(peer) {
                FlushNeed::None => {
                    self.unflushed.remove(index);
                }
                FlushNeed::Later => index += 1,
                FlushNeed::Now => {
                    let Some(slot) = self.free_flushes.pop() else {
                        return;
                    };
                    self.unflushed.remove(index);
                    self.flush(peer, slot, false);
                }
            }
        }
    }

    /// Whether [`Self::flush_all`] would post a flush.
    pub(super) fn has_due_flush(&self) -> bool {
        let is_due = |peer: &Peer| self.flush_need(*peer) == FlushNeed::Now;
        self.has_free_flush() && self.unflushed.iter().any(is_due)
    }

    fn flush_need(&self, peer: Peer) -> FlushNeed {
        let writes = &self.endpoints[peer].writes;
        if !writes.is_unflushed() {
            FlushNeed::None
        } else if writes.flushes() < MAX_FLUSHES_PER_PEER {
            FlushNeed::Now
        } else {
            FlushNeed::Later
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
        let Some(endpoint) = self.endpoints.get_mut(peer) else {
            // The rail has closed its endpoints, which cancelled the flush.
            return;
        };
        endpoint.writes.record_flush_completion();
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
