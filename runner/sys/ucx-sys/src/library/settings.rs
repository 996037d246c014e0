//! Functions of libucs that list the settings of all loaded modules. `ucx_info` uses the same functions; no installed
//! header declares them, so they are optional.

use crate::bindings::ucs_config_print_flags_t;
use libc::FILE;
use shared_library::LoadedLibrary;
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

/// `ucs_config_parser_print_all_opts`. Releases from 1.15 on have the fifth parameter, a filter, which may be null.
/// Earlier releases ignore it: in the calling conventions of x86-64 and AArch64, the caller owns the argument registers.
type PrintAll =
    unsafe extern "C" fn(*mut FILE, *const c_char, ucs_config_print_flags_t, *mut c_void, *const c_void);
type PrintUnused = unsafe extern "C" fn(*const c_char);

/// Functions that list the settings of all loaded modules.
#[derive(Debug, Clone, Copy)]
pub struct SettingsFunctions {
    print_all: PrintAll,
    print_unused: PrintUnused,
    /// `ucs_config_global_list`, the list of all tables of settings.
    tables: NonNull<c_void>,
}

// SAFETY: the fields are addresses of code and of a variable in a library that is never unloaded. Only `print_all` and
// `print_unused` use them, and they require that no other thread uses the library.
unsafe impl Send for SettingsFunctions {}
// SAFETY: as above.
unsafe impl Sync for SettingsFunctions {}

impl SettingsFunctions {
    pub(super) fn resolve(loaded: &LoadedLibrary) -> Option<Self> {
        let print_all = loaded.find(c"ucs_config_parser_print_all_opts", None)?.as_ptr();
        let print_unused = loaded
            .find(c"ucs_config_parser_print_env_vars_once", None)?
            .as_ptr();
        Some(Self {
            // SAFETY: this is the address of the function with this name; `PrintAll` describes its type.
            print_all: unsafe { std::mem::transmute::<*mut c_void, PrintAll>(print_all) },
            // SAFETY: this is the address of the function with this name, which takes a prefix.
            print_unused: unsafe { std::mem::transmute::<*mut c_void, PrintUnused>(print_unused) },
            tables: loaded.find(c"ucs_config_global_list", None)?,
        })
    }

    /// Prints all settings with their effective values, one `NAME=VALUE` per line.
    ///
    /// # Safety
    ///
    /// `stream` must be open, and no other thread may use the library during the call.
    pub unsafe fn print_all(&self, stream: *mut FILE, flags: ucs_config_print_flags_t) {
        // SAFETY: the caller guarantees the stream, the prefix is a C string, the list belongs to the library, and a null
        // filter selects all settings.
        unsafe {
            (self.print_all)(
                stream,
                c"UCX_".as_ptr(),
                flags,
                self.tables.as_ptr(),
                std::ptr::null(),
            );
        };
    }

    /// Writes a warning to UCX's log that lists the environment variables with UCX's prefix that no setting has used.
    /// Only the first call in a process writes it.
    ///
    /// # Safety
    ///
    /// No other thread may use the library during the call.
    pub unsafe fn print_unused(&self) {
        // SAFETY: the prefix is a C string.
        unsafe { (self.print_unused)(c"UCX_".as_ptr()) };
    }
}
