//! Captures what the library prints to a C stream or to standard output.

use libc::{FILE, c_char};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// Returns the text that `print` writes to the stream; empty if memory is exhausted.
pub(super) fn capture(print: impl FnOnce(*mut FILE)) -> String {
    let mut text: *mut c_char = std::ptr::null_mut();
    let mut length = 0_usize;
    // SAFETY: both pointers stay valid until the stream is closed below.
    let stream = unsafe { libc::open_memstream(&mut text, &mut length) };
    if stream.is_null() {
        return String::new();
    }
    print(stream);
    // SAFETY: the stream is open and is closed only here.
    unsafe { libc::fclose(stream) };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: after fclose, `text` points to `length` bytes that the stream allocated.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    let captured = String::from_utf8_lossy(bytes).into_owned();
    // SAFETY: the stream allocated the buffer with malloc, and it is freed only here.
    unsafe { libc::free(text.cast()) };
    captured
}

/// Runs `print`. Returns its result, and the text that any thread prints to standard output in the meantime. Returns an
/// error instead of the text if standard output cannot be replaced with a file in memory; `print` runs either way.
pub(in crate::transport::ucx) fn capture_stdout<T>(print: impl FnOnce() -> T) -> (T, io::Result<String>) {
    // Two concurrent captures would restore each other's file.
    static CAPTURE: Mutex<()> = Mutex::new(());
    let _guard = CAPTURE.lock().unwrap_or_else(PoisonError::into_inner);
    let replaced = replace_stdout();
    let result = print();
    (result, replaced.and_then(restore_stdout))
}

/// Restores standard output, and returns the text in the file that replaced it.
fn restore_stdout((original, mut file): (OwnedFd, File)) -> io::Result<String> {
    flush_streams();
    rustix::stdio::dup2_stdout(&original)?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces standard output with a new file in memory. Returns the original and the new file.
fn replace_stdout() -> io::Result<(OwnedFd, File)> {
    flush_streams();
    let original = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let file = File::from(memfd_create("stdout", MemfdFlags::CLOEXEC)?);
    rustix::stdio::dup2_stdout(&file)?;
    Ok((original, file))
}

/// Flushes the C library's buffers.
fn flush_streams() {
    // SAFETY: null stands for all output streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_printed_text() {
        let text = capture(|stream| {
            // SAFETY: the string is a C string, and the stream is open.
            unsafe { libc::fputs(c"# lane\n".as_ptr(), stream) };
        });
        assert_eq!(text, "# lane\n");
        assert_eq!(capture(|_| {}), "");
    }
}
