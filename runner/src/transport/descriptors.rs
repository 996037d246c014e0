//! Waits on the libraries' file descriptors. Makes a system call.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::time::Duration;

/// Maximum number of descriptors, equal to the maximum number of rails per transport.
pub(super) const MAX_DESCRIPTORS: usize = 64;

/// Sleeps until one of the descriptors is readable, but no longer than `timeout`. A signal ends the wait. Does not
/// allocate.
///
/// # Errors
///
/// Returns an error if the system call fails.
pub fn wait_until_readable(descriptors: impl Iterator<Item = c_int>, timeout: Duration) -> io::Result<()> {
    let mut entries = [libc::pollfd {
        fd: -1,
        events: libc::POLLIN,
        revents: 0,
    }; MAX_DESCRIPTORS];
    let mut count = 0;
    for (entry, descriptor) in entries.iter_mut().zip(descriptors) {
        entry.fd = descriptor;
        count += 1;
    }
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: the array has `count` entries (a negative descriptor is ignored, and a closed one is reported in its
    // entry), and a null signal mask changes nothing.
    let ready = unsafe { libc::ppoll(entries.as_mut_ptr(), count, &timeout, std::ptr::null()) };
    let error = io::Error::last_os_error();
    if ready >= 0 || error.kind() == io::ErrorKind::Interrupted {
        return Ok(());
    }
    Err(error)
}
