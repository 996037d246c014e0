//! Waits until one of several completion queues has an entry.

use super::rail::Rail;
use super::{CallError, check};
use crate::transport::descriptors::wait_until_readable;
use libfabric_sys::bindings::FI_EAGAIN;
use libfabric_sys::calls;
use std::time::Duration;

/// Sleeps until one of the rails may have a completion, but no longer than `timeout`.
///
/// Returns immediately if a rail already has a completion.
///
/// # Errors
///
/// Returns the failed call if the queues were not opened for waiting, or the system call fails.
pub(in crate::transport::libfabric) fn wait_for_completions(
    rails: &mut [Rail],
    timeout: Duration,
) -> Result<(), CallError> {
    for rail in rails.iter_mut() {
        if !rail.can_sleep()? {
            return Ok(());
        }
    }
    let descriptors = rails.iter().filter_map(|rail| rail.wait_descriptor);
    wait_until_readable(descriptors, timeout).map_err(|error| CallError {
        call: "ppoll",
        number: error.raw_os_error().unwrap_or(0),
        provider_number: 0,
        message: error.to_string(),
    })
}

impl Rail {
    fn can_sleep(&mut self) -> Result<bool, CallError> {
        let mut queue = [self.objects.queue.header()];
        // SAFETY: the fabric is open, and the array has one open object that was opened from it.
        let code = unsafe { calls::fi_trywait(self.objects.fabric.as_ptr(), queue.as_mut_ptr(), 1) };
        if code == -FI_EAGAIN {
            return Ok(false);
        }
        check(self.objects.info.library(), "fi_trywait", code).map(|()| true)
    }
}
