//! Sleeping until one of several queues has something.

use super::rail::Rail;
use super::{CallError, check};
use libfabric_sys::bindings::FI_EAGAIN;
use libfabric_sys::calls;
use std::time::Duration;

/// Most rails that are waited for together: the most a transport may have.
const MOST_RAILS: usize = 64;

/// Sleeps until a completion may be there on one of the rails, at most `timeout`. Returns at once where one is.
///
/// # Errors
///
/// Where the queues were not opened for sleeping, or the system call fails.
pub(in crate::transport::libfabric) fn sleep_on(
    rails: &mut [Rail],
    timeout: Duration,
) -> Result<(), CallError> {
    let mut sleepers = [libc::pollfd {
        fd: -1,
        events: libc::POLLIN,
        revents: 0,
    }; MOST_RAILS];
    let count = rails.len().min(MOST_RAILS);
    for (rail, sleeper) in rails.iter_mut().zip(&mut sleepers) {
        if !rail.may_sleep()? {
            return Ok(());
        }
        sleeper.fd = rail.wait_descriptor.unwrap_or(-1);
    }
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: `count` entries of the array (a negative descriptor is ignored); the signal mask stays as it is.
    let ready = unsafe {
        libc::ppoll(
            sleepers.as_mut_ptr(),
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
        text: error.to_string(),
    })
}

impl Rail {
    fn may_sleep(&mut self) -> Result<bool, CallError> {
        let mut queue = [self.objects.queue.header()];
        // SAFETY: open fabric; one open object of it.
        let code = unsafe { calls::fi_trywait(self.objects.fabric.as_ptr(), queue.as_mut_ptr(), 1) };
        if code == -FI_EAGAIN {
            return Ok(false);
        }
        check(self.objects.info.library(), "fi_trywait", code).map(|()| true)
    }
}
