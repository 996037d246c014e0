//! Polls a rail's completion queue, and waits for completions. Does not allocate or lock unless a completion reports an
//! error.

use super::batch::BATCH;
use super::queues::check_posted;
use super::{CallError, Rail, check};
use crate::rules::request_id::RequestId;
use rdma_sys::{
    ibv_ack_cq_events, ibv_get_cq_event, ibv_poll_cq, ibv_req_notify_cq, ibv_wc, ibv_wc_flags, ibv_wc_status,
    ibv_wc_status_str,
};
use runner::transport::CompletionKind;
use runner::transport::rail_set::Armed;
use std::ffi::CStr;
use std::fmt;

/// Failed work request, or a completion queue that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompletionError {
    message: String,
    /// Whether the peer is no longer responding.
    pub peer_is_lost: bool,
}

impl fmt::Display for CompletionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<CallError> for CompletionError {
    fn from(error: CallError) -> Self {
        Self {
            message: error.to_string(),
            peer_is_lost: false,
        }
    }
}

impl Rail {
    /// Reads completions until none are left or `room` completions have been reported.
    ///
    /// # Errors
    ///
    /// Returns an error if a completion reports an error.
    #[inline]
    pub(crate) fn poll_queue(
        &mut self,
        mut room: usize,
        mut report: impl FnMut(CompletionKind),
    ) -> Result<(), CompletionError> {
        if self.batch.unreported {
            self.report_sends(&mut room, &mut report);
        }
        while room > 0 {
            let count = self.read(room.min(BATCH))?;
            if count == 0 {
                return Ok(());
            }
            let mut consumed_immediates = 0;
            for index in 0..count {
                let completion = &self.batch.completions[index];
                let id = RequestId::decode(completion.wr_id);
                if completion.status != ibv_wc_status::IBV_WC_SUCCESS {
                    return Err(failure(completion, id));
                }
                match id {
                    RequestId::Send { queue, sequence } => {
                        if let Some(pair) = self.pairs.get_mut(usize::from(queue)) {
                            pair.queue.complete(sequence);
                        }
                    }
                    // Each of these entries is reported as one completion, so there is room for all of them.
                    RequestId::Receive { token } => {
                        room -= 1;
                        report(CompletionKind::Received {
                            token,
                            immediate: has_immediate(completion).then(|| immediate(completion)),
                            length: completion.byte_len.into(),
                        });
                    }
                    RequestId::Immediate => {
                        room -= 1;
                        consumed_immediates += 1;
                        report(CompletionKind::RemoteWrite {
                            immediate: immediate(completion),
                        });
                    }
                }
            }
            for _ in 0..consumed_immediates {
                check_posted(self.immediates.post_immediate())?;
            }
            self.report_sends(&mut room, &mut report);
        }
        Ok(())
    }

    /// Reports completed sends while there is room.
    #[inline]
    fn report_sends(&mut self, room: &mut usize, report: &mut impl FnMut(CompletionKind)) {
        self.batch.unreported = false;
        for pair in &mut self.pairs {
            loop {
                if *room == 0 {
                    self.batch.unreported = true;
                    return;
                }
                let Some(token) = pair.queue.next_completed() else {
                    break;
                };
                *room -= 1;
                report(CompletionKind::Posted { token });
            }
        }
    }

    /// Reads at most `count` completions into the batch, and returns their number.
    #[inline]
    fn read(&mut self, count: usize) -> Result<usize, CallError> {
        let waiting = std::mem::take(&mut self.batch.waiting);
        if waiting > 0 {
            return Ok(waiting);
        }
        let batch = self.batch.completions.as_mut_ptr();
        // SAFETY: the queue exists, and the batch has at least `count` entries.
        let result = unsafe { ibv_poll_cq(self.completions.as_ptr(), count as i32, batch) };
        usize::try_from(result).map_err(|_| CallError {
            call: "ibv_poll_cq",
            number: if result == -1 { libc::EIO } else { -result },
        })
    }

    /// Requests an event for the next completion.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the rail was not opened for waiting.
    pub(crate) fn arm_queue(&mut self) -> Result<Armed, CallError> {
        let Some(descriptor) = self.descriptor() else {
            return Err(CallError {
                call: "ibv_req_notify_cq",
                number: libc::EINVAL,
            });
        };
        if self.batch.waiting > 0 || self.batch.unreported {
            return Ok(Armed::Ready);
        }
        // The events that ended earlier sleeps.
        self.take_events();
        // SAFETY: the queue exists.
        let result = unsafe { ibv_req_notify_cq(self.completions.as_ptr(), 0) };
        check("ibv_req_notify_cq", result)?;
        // A completion that arrived before the request does not trigger an event.
        self.batch.waiting = self.read(1)?;
        Ok(match self.batch.waiting {
            0 => Armed::Sleep(descriptor),
            _ => Armed::Ready,
        })
    }

    /// Removes and acknowledges the events that have arrived.
    fn take_events(&mut self) {
        let Some(channel) = self.completions.channel() else {
            return;
        };
        loop {
            let (mut queue, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
            // SAFETY: the channel exists, its descriptor does not block, and the results are local variables.
            let result = unsafe { ibv_get_cq_event(channel.as_ptr(), &mut queue, &mut context) };
            if result != 0 {
                return;
            }
            // SAFETY: an event for this queue was just returned.
            unsafe { ibv_ack_cq_events(queue, 1) };
        }
    }
}

#[inline]
fn has_immediate(completion: &ibv_wc) -> bool {
    completion.wc_flags & ibv_wc_flags::IBV_WC_WITH_IMM.0 != 0
}

#[inline]
fn immediate(completion: &ibv_wc) -> u64 {
    // SAFETY: both fields of the union are 32-bit integers.
    u32::from_be(unsafe { completion.imm_data_invalidated_rkey_union.imm_data }).into()
}

#[cold]
fn failure(completion: &ibv_wc, id: RequestId) -> CompletionError {
    // SAFETY: the call returns a constant string for every value.
    let text = unsafe { ibv_wc_status_str(completion.status) };
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let request = match id {
        RequestId::Send { .. } => "send, read or write",
        RequestId::Receive { .. } => "receive",
        RequestId::Immediate => "receive of immediate data",
    };
    CompletionError {
        message: format!(
            "{request}: {text} (status {}, vendor error {})",
            completion.status, completion.vendor_err
        ),
        peer_is_lost: matches!(
            completion.status,
            ibv_wc_status::IBV_WC_RETRY_EXC_ERR | ibv_wc_status::IBV_WC_RNR_RETRY_EXC_ERR
        ),
    }
}
