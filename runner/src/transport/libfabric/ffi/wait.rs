//! Waits until one of several completion queues has an entry.

use super::rail::Rail;
use super::{CallError, check};
use libfabric_sys::bindings::FI_EAGAIN;
use libfabric_sys::calls;
use std::time::Duration;

/// Maximum number of rails of a transport.
const MAX_RAILS: usize = 64;

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
    let mut descriptors = [libc::pollfd {
        fd: -1,
        events: libc::POLLIN,
        revents: 0,
    }; MAX_RAILS];
    let count = rails.len().min(MAX_RAILS);
    for (rail, descriptor) in rails.iter_mut().zip(&mut descriptors) {
        if !rail.can_sleep()? {
            return Ok(());
        }
        descriptor.fd = rail.wait_descriptor.unwrap_or(-1);
    }
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: the array has `count` entries (a negative descriptor is ignored), and a null signal mask changes nothing.
    let ready = unsafe {
        libc::ppoll(
            descriptors.as_mut_ptr(),
            count as libc::nfds_t,
            &timeout,
            std::ptr::null(),
        )
    };
    let error = std::io::Error::last_os_error();
    if ready >= 0 || error.kind() == std::io::ErrorKind::Interrupted {
        return Ok(());
    }
    Err(CallError {
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
