//! Prints the settings of the library and of all loaded modules.

use super::stream::{capture, capture_stdout};
use std::ffi::CString;
use ucx_sys::Library;
use ucx_sys::bindings::{UCS_CONFIG_PRINT_CONFIG, UCS_CONFIG_PRINT_HIDDEN};

/// Opens a module, which registers its settings. An error is ignored: the module then has no settings.
pub(in crate::transport::ucx) fn open_module(path: &str) {
    let Ok(path) = CString::new(path) else { return };
    // SAFETY: the path is a C string. The module's constructors run, as they do when UCX loads the module. The handle is
    // never closed.
    let _handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
}

/// Returns all settings, and the warning about unused variables. `None` if the library cannot list them.
pub(in crate::transport::ucx) fn print_settings(library: &Library) -> Option<(String, String)> {
    let functions = library.settings_functions()?;
    // The enumeration is a set of flags.
    let flags = UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HIDDEN;
    let list = capture(|stream| {
        // SAFETY: the stream is open, and this process has created no context whose threads could use the library.
        unsafe { functions.print_all(stream, flags) };
    });
    let ((), warning) = capture_stdout(|| {
        // SAFETY: as above.
        unsafe { functions.print_unused() };
    });
    Some((list, warning.unwrap_or_default()))
}
