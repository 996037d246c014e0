//! Configuration of a context: read from the environment and the configuration files, then modified.

use super::stream::capture;
use super::{CallError, check};
use crate::transport::ucx::rules::settings::Setting;
use std::ffi::CString;
use std::ptr::NonNull;
use std::sync::Arc;
use ucx_sys::Library;
use ucx_sys::bindings::{UCS_CONFIG_PRINT_CONFIG, UCS_ERR_INVALID_PARAM, ucp_config_t};

/// Owned configuration.
pub(in crate::transport::ucx) struct Config {
    library: Arc<Library>,
    pointer: NonNull<ucp_config_t>,
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: this library created the configuration, and it is released only here.
        unsafe { (self.library.functions().ucp_config_release)(self.pointer.as_ptr()) };
    }
}

impl Config {
    /// Reads the configuration from the environment and the configuration files.
    ///
    /// # Errors
    ///
    /// Returns the failed call if a variable or a file has an invalid value.
    pub(in crate::transport::ucx) fn read(library: &Arc<Library>) -> Result<Self, CallError> {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: null stands for the default variable prefix and for no additional file, and there is room for one
        // pointer.
        let status = unsafe {
            (library.functions().ucp_config_read)(std::ptr::null(), std::ptr::null(), &mut pointer)
        };
        check(library, "ucp_config_read", status)?;
        let pointer = NonNull::new(pointer);
        let pointer =
            pointer.ok_or_else(|| CallError::new(library, "ucp_config_read", UCS_ERR_INVALID_PARAM))?;
        Ok(Self {
            library: Arc::clone(library),
            pointer,
        })
    }

    /// Changes one setting.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the setting does not exist or the value is invalid.
    pub(in crate::transport::ucx) fn modify(&mut self, setting: &Setting) -> Result<(), CallError> {
        let invalid = || CallError::new(&self.library, "ucp_config_modify", UCS_ERR_INVALID_PARAM);
        let name = CString::new(setting.name.as_str()).map_err(|_| invalid())?;
        let value = CString::new(setting.value.as_str()).map_err(|_| invalid())?;
        // SAFETY: the configuration is live, and both strings are C strings, which the library copies.
        let status = unsafe {
            (self.library.functions().ucp_config_modify)(self.pointer.as_ptr(), name.as_ptr(), value.as_ptr())
        };
        check(&self.library, "ucp_config_modify", status)
    }

    /// The entire configuration, one `NAME=VALUE` per line.
    pub(in crate::transport::ucx) fn print(&self) -> String {
        capture(|stream| {
            // SAFETY: the configuration is live, the stream is open, and the title is a C string.
            unsafe {
                (self.library.functions().ucp_config_print)(
                    self.pointer.as_ptr(),
                    stream,
                    c"".as_ptr(),
                    UCS_CONFIG_PRINT_CONFIG,
                );
            };
        })
    }

    pub(super) fn as_ptr(&self) -> *const ucp_config_t {
        self.pointer.as_ptr()
    }
}
