//! Process exit without exit handlers.

/// Exits this process immediately with `status`. Exit handlers and destructors of loaded libraries do not run, because
/// some fabric libraries crash in them.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: _exit accepts any status, accesses no memory of the process and does not return.
    unsafe { libc::_exit(status) }
}
