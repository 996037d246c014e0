//! Captures what the library prints to a C stream or to standard output.

use libc::{FILE, c_char};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Read, Seek};

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

/// Returns the text that is printed to standard output while `print` runs. Text of other threads is captured too.
///
/// # Errors
///
/// If standard output cannot be replaced by a file in memory. `print` is then run, but its output is not captured.
pub(in crate::transport::ucx) fn capture_stdout(print: impl FnOnce()) -> io::Result<String> {
    let replaced = replace_stdout();
    print();
    let (original, mut file) = replaced?;
    flush_streams();
    rustix::stdio::dup2_stdout(&original)?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces standard output by a new file in memory. Returns the original, and the file.
fn replace_stdout() -> io::Result<(std::os::fd::OwnedFd, File)> {
    flush_streams();
    let original = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let file = File::from(memfd_create("stdout", MemfdFlags::CLOEXEC)?);
    rustix::stdio::dup2_stdout(&file)?;
    Ok((original, file))
}

/// Writes what the C library has buffered.
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
