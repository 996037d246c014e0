//! Waits until one of several workers may have an event.

use super::rail::Rail;
use super::{CallError, check};
use crate::transport::descriptors::wait_until_readable;
use std::time::Duration;
use ucx_sys::bindings::UCS_ERR_BUSY;

/// Sleeps until one of the rails may have a completion, but no longer than `timeout`.
///
/// Returns immediately if a rail already has an event.
///
/// # Errors
///
/// Returns the message of the failed call if the rails were not opened for waiting, or the system call fails.
pub(in crate::transport::ucx) fn wait_for_completions(
    rails: &mut [Rail],
    timeout: Duration,
) -> Result<(), String> {
    for rail in rails.iter_mut() {
        // Posting a receive may have queued the event of a message that had already arrived.
        rail.handle_events();
        if rail.has_work()
            || !rail
                .can_sleep()
                .map_err(|error| format!("{}: {error}", error.call))?
        {
            return Ok(());
        }
    }
    let descriptors = rails.iter().filter_map(|rail| rail.wait_descriptor);
    wait_until_readable(descriptors, timeout).map_err(|error| format!("ppoll: {error}"))
}

impl Rail {
    /// Asks the worker to signal its file descriptor at the next event. Returns false if it already has an event.
    fn can_sleep(&mut self) -> Result<bool, CallError> {
        let library = self.objects.library();
        // SAFETY: the worker exists, and the exclusive reference guarantees that no other thread uses it.
        let status = unsafe { (library.functions().ucp_worker_arm)(self.objects.worker.handle()) };
        if status == UCS_ERR_BUSY {
            return Ok(false);
        }
        check(library, "ucp_worker_arm", status).map(|()| true)
    }
}
