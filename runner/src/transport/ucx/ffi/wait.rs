//! Prepares a worker for a sleep.

use super::rail::Rail;
use super::{CallError, check};
use crate::transport::rail_set::Armed;
use ucx_sys::bindings::{UCS_ERR_BUSY, UCS_ERR_INVALID_PARAM};

impl Rail {
    /// Asks the worker to signal its file descriptor at the next event.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the worker was not opened for waiting.
    pub(in crate::transport::ucx) fn arm_worker(&mut self) -> Result<Armed, CallError> {
        // Posting a receive may have queued the event of a message that had already arrived.
        self.handle_events();
        if self.has_work() {
            return Ok(Armed::Ready);
        }
        let library = self.objects.library();
        let Some(descriptor) = self.wait_descriptor else {
            return Err(CallError::new(library, "ucp_worker_arm", UCS_ERR_INVALID_PARAM));
        };
        // SAFETY: the worker exists, and the exclusive reference guarantees that no other thread uses it.
        let status = unsafe { (library.functions().ucp_worker_arm)(self.objects.worker.handle()) };
        if status == UCS_ERR_BUSY {
            return Ok(Armed::Ready);
        }
        check(library, "ucp_worker_arm", status).map(|()| Armed::Sleep(descriptor))
    }
}
