//! Posts operations and receives. Does not allocate, lock or log.
//!
//! Every post checks that its memory belongs to a region of the same rail. Regions live as long as the worker, so the
//! memory outlives the operation even if the caller drops the region.

use super::callbacks::{on_completion, on_receive};
use super::memory::RegisteredRange;
use super::operations::{PostState, ReceiveState};
use super::rail::{BYTES, ImportedKey, Rail};
use crate::transport::ucx::rules::errors::post_error;
use crate::transport::{Peer, PostError};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use ucx_sys::bindings::{
    UCP_OP_ATTR_FIELD_CALLBACK, UCP_OP_ATTR_FIELD_DATATYPE, UCP_OP_ATTR_FIELD_MEMH,
    UCP_OP_ATTR_FIELD_USER_DATA, UCP_OP_ATTR_FLAG_NO_IMM_CMPL, ucp_ep_h, ucp_mem_h, ucp_request_param_t,
    ucp_rkey_h,
};
use ucx_sys::{RequestState, request_state};

/// Remote memory of an RMA operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::ucx) struct RemoteTarget {
    pub peer: Peer,
    /// Index of the imported key.
    pub key: u64,
    /// Offset in the region, in bytes.
    pub offset: u64,
}

/// Parameters with no fields set.
#[inline]
pub(super) fn empty_param() -> ucp_request_param_t {
    // SAFETY: the struct consists of integers, pointers, and unions of pointers and optional functions, for which zero
    // is valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

impl Rail {
    /// Sends a message whose tag is the immediate data.
    #[inline]
    pub(in crate::transport::ucx) fn send(
        &mut self,
        range: RegisteredRange<'_>,
        peer: Peer,
        immediate: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let endpoint = self.validate(&range, peer)?;
        self.reserve_post(token, PostState::Single)?;
        let param = self.post_param(&range, token);
        let send = self.objects.library().functions().ucp_tag_send_nbx;
        // SAFETY: the endpoint is open, and the memory and the origin are valid until the completion.
        let state = request_state(unsafe {
            send(
                endpoint,
                range.pointer.cast_const().cast(),
                range.length,
                immediate,
                &param,
            )
        });
        self.handle_post_result(token, state)
    }

    /// Writes to remote memory, and then sends the immediate data, if any. The completion means that the data is in the
    /// target's memory.
    #[inline]
    pub(in crate::transport::ucx) fn write(
        &mut self,
        range: RegisteredRange<'_>,
        to: RemoteTarget,
        immediate: Option<u64>,
        token: u32,
    ) -> Result<(), PostError> {
        let state = PostState::Write {
            peer: to.peer,
            written: false,
            flushed: false,
            immediate,
        };
        match self.post_put(&range, to, token, state)? {
            RequestState::InProgress(_) => {}
            RequestState::Completed => self.handle_put(token),
            RequestState::Failed(status) => {
                self.posts[token as usize] = PostState::Idle;
                return Err(post_error(status));
            }
        }
        self.record_put(to.peer, token);
        Ok(())
    }

    /// Writes to remote memory. The completion means only that the memory can be reused.
    #[inline]
    pub(in crate::transport::ucx) fn put(
        &mut self,
        range: RegisteredRange<'_>,
        to: RemoteTarget,
        token: u32,
    ) -> Result<(), PostError> {
        let state = self.post_put(&range, to, token, PostState::Single)?;
        self.handle_post_result(token, state)
    }

    /// Reserves the token with `state`, and posts a put.
    #[inline]
    fn post_put(
        &mut self,
        range: &RegisteredRange<'_>,
        to: RemoteTarget,
        token: u32,
        state: PostState,
    ) -> Result<RequestState, PostError> {
        let endpoint = self.validate(range, to.peer)?;
        let (key, address) = self.resolve(to, range.length)?;
        self.reserve_post(token, state)?;
        let param = self.post_param(range, token);
        let put = self.objects.library().functions().ucp_put_nbx;
        // SAFETY: the endpoint is open, the key was imported for it, the range lies in the peer's region that the key describes,
        // and the memory and the origin are valid until the completion.
        Ok(request_state(unsafe {
            put(
                endpoint,
                range.pointer.cast_const().cast(),
                range.length,
                address,
                key,
                &param,
            )
        }))
    }

    /// Reads remote memory. The completion means that the data has arrived.
    #[inline]
    pub(in crate::transport::ucx) fn read(
        &mut self,
        range: RegisteredRange<'_>,
        from: RemoteTarget,
        token: u32,
    ) -> Result<(), PostError> {
        let endpoint = self.validate(&range, from.peer)?;
        let (key, address) = self.resolve(from, range.length)?;
        self.reserve_post(token, PostState::Single)?;
        let param = self.post_param(&range, token);
        let get = self.objects.library().functions().ucp_get_nbx;
        // SAFETY: as for the put.
        let state =
            request_state(unsafe { get(endpoint, range.pointer.cast(), range.length, address, key, &param) });
        self.handle_post_result(token, state)
    }

    /// Posts a receive for one message with any tag from any peer.
    ///
    /// The library must not complete the receive without a callback, because releases before 1.22 then do not report
    /// the tag.
    #[inline]
    pub(in crate::transport::ucx) fn receive_tagged_message(
        &mut self,
        range: RegisteredRange<'_>,
        token: u32,
    ) -> Result<(), PostError> {
        self.check_owner(&range)?;
        let slot = token as usize;
        let receive = self
            .receives
            .get_mut(slot)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        if *receive != ReceiveState::Idle {
            return Err(PostError::Refused(libc::EBUSY));
        }
        *receive = ReceiveState::Posting;
        let mut param = self.param(range.handle, self.config.depth + slot);
        param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        param.cb.recv = Some(on_receive);
        let receive = self.objects.library().functions().ucp_tag_recv_nbx;
        // SAFETY: the worker exists, and the memory and the origin are valid until the completion.
        let state = request_state(unsafe {
            receive(
                self.objects.worker.handle(),
                range.pointer.cast(),
                range.length,
                0,
                0,
                &param,
            )
        });
        match state {
            // If the message has already arrived, the library has called the callback, and the next poll handles the
            // event and replaces this state.
            RequestState::InProgress(request) => {
                self.receives[slot] = ReceiveState::Posted(NonNull::as_ptr(request));
                Ok(())
            }
            RequestState::Completed => {
                self.receives[slot] = ReceiveState::Idle;
                Err(PostError::Failed(libc::EPROTO))
            }
            RequestState::Failed(status) => {
                self.receives[slot] = ReceiveState::Idle;
                Err(post_error(status))
            }
        }
    }

    /// Handles the result of a call that posted a send or get: reports its completion, or releases the token.
    #[inline]
    pub(super) fn handle_post_result(&mut self, token: u32, state: RequestState) -> Result<(), PostError> {
        match state {
            RequestState::InProgress(_) => Ok(()),
            RequestState::Completed => {
                self.complete_post(token);
                Ok(())
            }
            RequestState::Failed(status) => {
                self.posts[token as usize] = PostState::Idle;
                Err(post_error(status))
            }
        }
    }

    /// Parameters for a send, put or get with this token.
    #[inline]
    pub(super) fn post_param(&self, range: &RegisteredRange<'_>, token: u32) -> ucp_request_param_t {
        let mut param = self.param(range.handle, token as usize);
        param.cb.send = Some(on_completion);
        param
    }

    /// Parameters for an operation on memory with this registration, without the callback. The datatype is always set,
    /// as in ucx_perftest, so that puts of all sizes take the same path. The memory type is never set, because its
    /// numbers differ between releases.
    #[inline]
    pub(super) fn param(&self, handle: ucp_mem_h, origin: usize) -> ucp_request_param_t {
        let mut param = empty_param();
        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK
            | UCP_OP_ATTR_FIELD_USER_DATA
            | UCP_OP_ATTR_FIELD_DATATYPE
            | UCP_OP_ATTR_FIELD_MEMH;
        param.datatype = BYTES;
        param.user_data = self.objects.origins[origin].as_user_data();
        param.memh = handle;
        param
    }

    /// Checks the memory and the peer of a post, and returns the endpoint.
    #[inline]
    pub(super) fn validate(&self, range: &RegisteredRange<'_>, peer: Peer) -> Result<ucp_ep_h, PostError> {
        self.check_owner(range)?;
        let endpoint = self.endpoints.get(peer).ok_or(PostError::Refused(libc::EINVAL))?;
        Ok(endpoint.handle)
    }

    /// Rejects memory registered on another rail, because this rail would not keep it alive.
    #[inline]
    pub(super) fn check_owner(&self, range: &RegisteredRange<'_>) -> Result<(), PostError> {
        if std::ptr::eq(range.rail, Arc::as_ptr(&self.objects)) {
            Ok(())
        } else {
            Err(PostError::Refused(libc::EINVAL))
        }
    }

    /// Handle of the imported key, and the remote address. Rejects a range outside the region, because UCX would access
    /// it when emulating the operation.
    #[inline]
    fn resolve(&self, target: RemoteTarget, length: usize) -> Result<(ucp_rkey_h, u64), PostError> {
        let refused = PostError::Refused(libc::EINVAL);
        let key = usize::try_from(target.key)
            .ok()
            .and_then(|index| self.keys.get(index));
        let key: &ImportedKey = key.filter(|key| key.peer == target.peer).ok_or(refused)?;
        let end = target.offset.checked_add(length as u64).ok_or(refused)?;
        if end > key.length {
            return Err(refused);
        }
        Ok((key.handle, key.address.wrapping_add(target.offset)))
    }

    #[inline]
    pub(super) fn reserve_post(&mut self, token: u32, state: PostState) -> Result<(), PostError> {
        let post = self
            .posts
            .get_mut(token as usize)
            .ok_or(PostError::Refused(libc::EINVAL))?;
        if *post != PostState::Idle {
            return Err(PostError::Refused(libc::EBUSY));
        }
        *post = state;
        Ok(())
    }
}
