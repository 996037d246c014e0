//! Reads the completion queue.

use super::CallError;
use super::rail::Rail;
use libfabric_sys::bindings::{
    FI_EAGAIN, FI_EAVAIL, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, fi_cq_data_entry, fi_cq_err_entry,
};
use libfabric_sys::{Grown, calls};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// Most entries that one read asks for.
const BATCH: usize = 64;
/// Longest text that a provider gives for an error.
const TEXT_BYTES: usize = 256;

/// What one entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) enum Event {
    /// An own post completed.
    Posted { token: u32 },
    /// A message arrived.
    Received {
        token: u32,
        immediate: Option<u64>,
        length: u64,
    },
    /// A write with immediate data arrived.
    RemoteWrite { immediate: u64 },
}

/// How a read of the queue ended.
#[derive(Debug)]
pub(in crate::transport::libfabric) enum Batch {
    /// The queue is empty, or as much was read as was asked for.
    Read,
    /// The next entry is an error: what failed, by token where it is known, and the texts of library and provider.
    Failed(CallError),
}

impl Rail {
    /// Reads at most `most` entries and hands each to `take`. Makes progress where the provider leaves that to the
    /// caller. At most one batch is read.
    #[inline]
    pub(in crate::transport::libfabric) fn read_queue(
        &mut self,
        most: usize,
        mut take: impl FnMut(Event),
    ) -> Batch {
        if !self.owed_receives.is_empty()
            && let Err(failure) = self.post_owed_receives()
        {
            return Batch::Failed(failure);
        }
        let mut entries = [const { MaybeUninit::<fi_cq_data_entry>::uninit() }; BATCH];
        let most = most.min(BATCH);
        let queue = self.objects.queue.as_ptr();
        // SAFETY: open queue of this format; there is room for `most` entries.
        let count = unsafe { calls::fi_cq_read(queue, entries.as_mut_ptr().cast(), most) };
        let Ok(count) = usize::try_from(count) else {
            return if count == -(FI_EAGAIN as isize) {
                Batch::Read
            } else {
                self.failed(count)
            };
        };
        for entry in &entries[..count.min(most)] {
            // SAFETY: the library wrote the first `count` entries.
            let entry = unsafe { entry.assume_init_ref() };
            if let Some(event) = self.event(entry) {
                take(event);
            }
        }
        match self.post_owed_receives() {
            Ok(()) => Batch::Read,
            Err(failure) => Batch::Failed(failure),
        }
    }

    /// Posts the receives again that writes with immediate data took; those for which there is no room (EAGAIN) stay
    /// for the next read.
    #[inline]
    fn post_owed_receives(&mut self) -> Result<(), CallError> {
        while let Some(slot) = self.owed_receives.last().copied() {
            let code = self.call_receive(self.receives[slot - self.depth], slot);
            if code == -(FI_EAGAIN as isize) {
                return Ok(());
            }
            self.owed_receives.pop();
            if code != 0 {
                self.in_flight[slot] = false;
                let number = i32::try_from(code).unwrap_or(i32::MIN);
                return Err(CallError::new(self.objects.info.library(), "fi_recv", number));
            }
        }
        Ok(())
    }

    /// What an entry says; nothing for entries that tell nobody anything, such as a peer's write without immediate
    /// data.
    #[inline]
    fn event(&mut self, entry: &fi_cq_data_entry) -> Option<Event> {
        let immediate = (entry.flags & FI_REMOTE_CQ_DATA != 0).then_some(entry.data);
        let Some(slot) = self.objects.slot(entry.op_context) else {
            return immediate.map(|immediate| Event::RemoteWrite { immediate });
        };
        let token = |slot: usize| u32::try_from(slot).unwrap_or(u32::MAX);
        if slot < self.depth {
            self.in_flight[slot] = false;
            return Some(Event::Posted { token: token(slot) });
        }
        if self.immediate_takes_receive && entry.flags & FI_REMOTE_WRITE != 0 {
            // The message was in the peer's memory operation; the receive only paid for it, and goes back.
            self.owed_receives.push(slot);
            return immediate.map(|immediate| Event::RemoteWrite { immediate });
        }
        self.in_flight[slot] = false;
        Some(Event::Received {
            token: token(slot - self.depth),
            immediate,
            length: entry.len as u64,
        })
    }

    #[cold]
    fn failed(&mut self, code: isize) -> Batch {
        let library = self.objects.info.library();
        let number = i32::try_from(code).unwrap_or(i32::MIN);
        if number != -FI_EAVAIL {
            return Batch::Failed(CallError::new(library, "fi_cq_read", number));
        }
        // SAFETY: integers and pointers; no error data is asked for (its size is zero).
        let mut entry = unsafe { Grown::<fi_cq_err_entry>::zeroed() };
        // SAFETY: open queue; the entry has room for what newer releases append.
        let read = unsafe { calls::fi_cq_readerr(self.objects.queue.as_ptr(), entry.as_mut_ptr(), 0) };
        if read == -(FI_EAGAIN as isize) {
            return Batch::Read;
        }
        if read < 0 {
            let number = i32::try_from(read).unwrap_or(i32::MIN);
            return Batch::Failed(CallError::new(library, "fi_cq_readerr", number));
        }
        let provider = self.provider_text(entry.known());
        let entry = entry.known();
        let what = match self.objects.slot(entry.op_context) {
            Some(slot) if slot < self.depth => format!("the post with token {slot}"),
            Some(slot) => format!("the receive with token {}", slot - self.depth),
            None => "an operation without a token".to_owned(),
        };
        if let Some(slot) = self.objects.slot(entry.op_context) {
            self.in_flight[slot] = false;
        }
        let text = format!(
            "{what}: {}; the provider says: {provider}",
            library.error_text(entry.err)
        );
        Batch::Failed(CallError {
            call: "completion",
            number: entry.err,
            provider_number: entry.prov_errno.saturating_abs(),
            text,
        })
    }

    fn provider_text(&self, entry: &fi_cq_err_entry) -> String {
        let mut buffer = [0 as c_char; TEXT_BYTES];
        // SAFETY: open queue; the entry came from it, and the buffer has the length that is said.
        let text = unsafe {
            calls::fi_cq_strerror(
                self.objects.queue.as_ptr(),
                entry.prov_errno,
                entry.err_data,
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        if text.is_null() {
            return format!("error {}", entry.prov_errno);
        }
        // SAFETY: not null; a C string of the provider or in the buffer, read before the next call.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
