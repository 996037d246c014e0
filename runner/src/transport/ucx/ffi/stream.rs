//! Captures what the library prints to a C stream.

use libc::{FILE, c_char};

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
