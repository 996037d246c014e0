//! Reads the completion queue. Does not lock or log, and allocates only for errors.

use super::CallError;
use super::rail::Rail;
use crate::transport::CompletionKind;
use libfabric_sys::bindings::{
    FI_EAGAIN, FI_EAVAIL, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, fi_cq_data_entry, fi_cq_err_entry,
};
use libfabric_sys::{Padded, calls};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// Maximum number of entries per read.
const BATCH: usize = 64;
/// Size of the buffer for a provider's error description, in bytes.
const PROVIDER_MESSAGE_BYTES: usize = 256;

/// Result of reading a completion queue.
#[derive(Debug)]
pub(in crate::transport::libfabric) enum QueueRead {
    /// The queue is empty, or the requested number of entries was read.
    Done,
    /// The next entry is an error.
    ///
    /// The error message contains the token, if known, and the descriptions from the library and the provider.
    Failed(CallError),
}

impl Rail {
    /// Reads up to `max_entries` entries, but no more than one batch, and passes each entry to `handle`.
    ///
    /// For providers with manual progress, the call also drives the progress of posted operations.
    #[inline]
    pub(in crate::transport::libfabric) fn read_queue(
        &mut self,
        max_entries: usize,
        mut handle: impl FnMut(CompletionKind),
    ) -> QueueRead {
        if let Err(failure) = self.repost_consumed_receives() {
            return QueueRead::Failed(failure);
        }
        let mut entries = [const { MaybeUninit::<fi_cq_data_entry>::uninit() }; BATCH];
        let max_entries = max_entries.min(BATCH);
        let queue = self.objects.queue.as_ptr();
        // SAFETY: the queue is open and has this entry format, and the array has room for `max_entries` entries.
        let count = unsafe { calls::fi_cq_read(queue, entries.as_mut_ptr().cast(), max_entries) };
        let Ok(count) = usize::try_from(count) else {
            return if count == -(FI_EAGAIN as isize) {
                QueueRead::Done
            } else {
                self.read_error(count)
            };
        };
        for entry in &entries[..count.min(max_entries)] {
            // SAFETY: the library wrote the first `count` entries.
            let entry = unsafe { entry.assume_init_ref() };
            if let Some(completion) = self.decode(entry) {
                handle(completion);
            }
        }
        if let Err(failure) = self.repost_consumed_receives() {
            return QueueRead::Failed(failure);
        }
        QueueRead::Done
    }

    /// Reposts the receives that were consumed by incoming writes with immediate data.
    ///
    /// If the receive queue is full (EAGAIN), the remaining receives are reposted by the next read.
    #[inline]
    fn repost_consumed_receives(&mut self) -> Result<(), CallError> {
        if self.consumed_receives.is_empty() {
            return Ok(());
        }
        self.repost_each_receive()
    }

    fn repost_each_receive(&mut self) -> Result<(), CallError> {
        while let Some(slot) = self.consumed_receives.last().copied() {
            let code = self.call_fi_recv(self.receives[slot - self.depth], slot);
            if code == -(FI_EAGAIN as isize) {
                return Ok(());
            }
            self.consumed_receives.pop();
            if code != 0 {
                self.in_flight[slot] = false;
                let number = i32::try_from(code).unwrap_or(i32::MIN);
                return Err(CallError::new(self.objects.info.library(), "fi_recv", number));
            }
        }
        Ok(())
    }

    /// Decodes an entry; `None` for an entry that is not reported, such as a peer's write without immediate data.
    #[inline]
    fn decode(&mut self, entry: &fi_cq_data_entry) -> Option<CompletionKind> {
        let immediate = (entry.flags & FI_REMOTE_CQ_DATA != 0).then_some(entry.data);
        let Some(slot) = self.objects.slot(entry.op_context) else {
            return immediate.map(|immediate| CompletionKind::RemoteWrite { immediate });
        };
        let token = |slot: usize| u32::try_from(slot).unwrap_or(u32::MAX);
        if slot < self.depth {
            self.in_flight[slot] = false;
            return Some(CompletionKind::Posted { token: token(slot) });
        }
        if self.immediate_consumes_receive && entry.flags & FI_REMOTE_WRITE != 0 {
            // The write placed its data in the remote region and consumed the receive without using its memory.
            self.consumed_receives.push(slot);
            return immediate.map(|immediate| CompletionKind::RemoteWrite { immediate });
        }
        self.in_flight[slot] = false;
        Some(CompletionKind::Received {
            token: token(slot - self.depth),
            immediate,
            length: entry.len as u64,
        })
    }

    #[cold]
    fn read_error(&mut self, code: isize) -> QueueRead {
        let library = self.objects.info.library();
        let number = i32::try_from(code).unwrap_or(i32::MIN);
        if number != -FI_EAVAIL {
            return QueueRead::Failed(CallError::new(library, "fi_cq_read", number));
        }
        // SAFETY: the struct consists of integers and pointers, for which zero is valid. An `err_data_size` of 0
        // requests no error data.
        let mut entry = unsafe { Padded::<fi_cq_err_entry>::zeroed() };
        // SAFETY: the queue is open, and the padding has room for the fields that newer releases append.
        let read = unsafe { calls::fi_cq_readerr(self.objects.queue.as_ptr(), entry.as_mut_ptr(), 0) };
        if read == -(FI_EAGAIN as isize) {
            return QueueRead::Done;
        }
        if read < 0 {
            let number = i32::try_from(read).unwrap_or(i32::MIN);
            return QueueRead::Failed(CallError::new(library, "fi_cq_readerr", number));
        }
        let entry = entry.fields();
        let provider = self.provider_message(entry);
        let operation = match self.objects.slot(entry.op_context) {
            Some(slot) if slot < self.depth => format!("the post with token {slot}"),
            Some(slot) => format!("the receive with token {}", slot - self.depth),
            None => "an operation without a token".to_owned(),
        };
        if let Some(slot) = self.objects.slot(entry.op_context) {
            self.in_flight[slot] = false;
        }
        let message = format!(
            "{operation}: {}; provider error: {provider}",
            library.error_message(entry.err)
        );
        QueueRead::Failed(CallError {
            call: "completion",
            number: entry.err,
            provider_number: entry.prov_errno.saturating_abs(),
            message,
        })
    }

    fn provider_message(&self, entry: &fi_cq_err_entry) -> String {
        let mut buffer = [0 as c_char; PROVIDER_MESSAGE_BYTES];
        // SAFETY: the queue is open, the entry came from it, and the buffer has the given length.
        let description = unsafe {
            calls::fi_cq_strerror(
                self.objects.queue.as_ptr(),
                entry.prov_errno,
                entry.err_data,
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        if description.is_null() {
            return format!("error {}", entry.prov_errno);
        }
        // SAFETY: the pointer is not null. It points to one of the provider's C strings or to the buffer, and the
        // string is copied before the next call on the queue.
        unsafe { CStr::from_ptr(description) }
            .to_string_lossy()
            .into_owned()
    }
}
