//! Prepares the completion queue for a sleep.

use super::rail::Rail;
use super::{CallError, check};
use crate::transport::rail_set::Armed;
use libfabric_sys::bindings::{FI_EAGAIN, FI_EINVAL};
use libfabric_sys::calls;

impl Rail {
    /// Prepares the completion queue for a sleep on its descriptor.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the queue was not opened for waiting.
    pub(in crate::transport::libfabric) fn arm_queue(&mut self) -> Result<Armed, CallError> {
        let library = self.objects.info.library();
        let Some(descriptor) = self.wait_descriptor else {
            return Err(CallError::new(library, "fi_trywait", FI_EINVAL));
        };
        let mut queue = [self.objects.queue.header()];
        // SAFETY: the fabric is open, and the array has one open object that was opened from it.
        let code = unsafe { calls::fi_trywait(self.objects.fabric.as_ptr(), queue.as_mut_ptr(), 1) };
        if code == -FI_EAGAIN {
            return Ok(Armed::Ready);
        }
        check(library, "fi_trywait", code).map(|()| Armed::Sleep(descriptor))
    }
}
