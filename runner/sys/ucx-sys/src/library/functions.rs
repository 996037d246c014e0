//! Resolves the functions that the library exports. UCX has no symbol versions.

use super::Version;
use crate::bindings::{
    self, ucp_address_t, ucp_am_handler_param_t, ucp_config_t, ucp_context_h, ucp_ep_attr_t, ucp_ep_h,
    ucp_ep_params_t, ucp_mem_attr_t, ucp_mem_h, ucp_mem_map_params_t, ucp_params_t, ucp_request_param_t,
    ucp_rkey_h, ucp_tag_t, ucp_worker_h, ucp_worker_params_t, ucs_config_print_flags_t, ucs_status_ptr_t,
    ucs_status_t,
};
use libc::FILE;
use shared_library::{LoadedLibrary, OpenError};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// Declares the functions, each with its type in the C headers.
macro_rules! functions {
    ($($(#[$doc:meta])+ fn $name:ident($($type:ty),*) $(-> $result:ty)?;)+) => {
        /// Functions that the library exports: code addresses in a library that is never unloaded.
        ///
        /// All functions have the same contract, in addition to the contract in `ucp.h`:
        ///
        /// * every object comes from the same loaded library and has not been destroyed;
        /// * every parameter struct and string is valid for the duration of the call, and the bits of its mask are set
        ///   only for fields that have been set;
        /// * a posted buffer stays valid until the completion of its request;
        /// * only one thread at a time uses a worker and the objects that were created from it.
        #[derive(Debug, Clone, Copy)]
        #[allow(non_snake_case)]
        pub struct Functions {
            $($(#[$doc])+ pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)+
        }

        impl Functions {
            /// Resolves all functions in an open library.
            ///
            /// # Errors
            ///
            /// Returns `SymbolMissing` if the library lacks a function.
            pub(super) fn resolve(loaded: &LoadedLibrary) -> Result<Self, OpenError> {
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                        let address = loaded.require(name, None)?.as_ptr();
                        // SAFETY: this is the address of the C function with this name, and `assert_types` checks that
                        // the headers declare it with this type.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(address)
                        }
                    },)+
                })
            }
        }

        /// Checks at compile time that the types above match the headers. The function has a type parameter and is
        /// never instantiated, because the binary is not linked with the library; a function without a type parameter
        /// might be compiled.
        #[allow(dead_code, clippy::extra_unused_type_parameters)]
        fn assert_types<T>() {
            $(let _: unsafe extern "C" fn($($type),*) $(-> $result)? = bindings::$name;)+
        }
    };
}

functions! {
    /// `ucs_status_string`.
    fn ucs_status_string(ucs_status_t) -> *const c_char;
    /// `ucp_get_version`: writes the major, minor and patch numbers.
    fn ucp_get_version(*mut c_uint, *mut c_uint, *mut c_uint);
    /// `ucp_init_version`.
    fn ucp_init_version(c_uint, c_uint, *const ucp_params_t, *const ucp_config_t, *mut ucp_context_h) -> ucs_status_t;
    /// `ucp_cleanup`.
    fn ucp_cleanup(ucp_context_h);
    /// `ucp_config_read`.
    fn ucp_config_read(*const c_char, *const c_char, *mut *mut ucp_config_t) -> ucs_status_t;
    /// `ucp_config_modify`.
    fn ucp_config_modify(*mut ucp_config_t, *const c_char, *const c_char) -> ucs_status_t;
    /// `ucp_config_print`.
    fn ucp_config_print(*const ucp_config_t, *mut FILE, *const c_char, ucs_config_print_flags_t);
    /// `ucp_config_release`.
    fn ucp_config_release(*mut ucp_config_t);
    /// `ucp_context_print_info`.
    fn ucp_context_print_info(ucp_context_h, *mut FILE);
    /// `ucp_worker_create`.
    fn ucp_worker_create(ucp_context_h, *const ucp_worker_params_t, *mut ucp_worker_h) -> ucs_status_t;
    /// `ucp_worker_destroy`.
    fn ucp_worker_destroy(ucp_worker_h);
    /// `ucp_worker_progress`.
    fn ucp_worker_progress(ucp_worker_h) -> c_uint;
    /// `ucp_worker_get_efd`.
    fn ucp_worker_get_efd(ucp_worker_h, *mut c_int) -> ucs_status_t;
    /// `ucp_worker_arm`.
    fn ucp_worker_arm(ucp_worker_h) -> ucs_status_t;
    /// `ucp_worker_get_address`.
    fn ucp_worker_get_address(ucp_worker_h, *mut *mut ucp_address_t, *mut usize) -> ucs_status_t;
    /// `ucp_worker_release_address`.
    fn ucp_worker_release_address(ucp_worker_h, *mut ucp_address_t);
    /// `ucp_worker_set_am_recv_handler`.
    fn ucp_worker_set_am_recv_handler(ucp_worker_h, *const ucp_am_handler_param_t) -> ucs_status_t;
    /// `ucp_ep_create`.
    fn ucp_ep_create(ucp_worker_h, *const ucp_ep_params_t, *mut ucp_ep_h) -> ucs_status_t;
    /// `ucp_ep_close_nbx`.
    fn ucp_ep_close_nbx(ucp_ep_h, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_ep_flush_nbx`.
    fn ucp_ep_flush_nbx(ucp_ep_h, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_ep_query`.
    fn ucp_ep_query(ucp_ep_h, *mut ucp_ep_attr_t) -> ucs_status_t;
    /// `ucp_ep_print_info`.
    fn ucp_ep_print_info(ucp_ep_h, *mut FILE);
    /// `ucp_mem_map`.
    fn ucp_mem_map(ucp_context_h, *const ucp_mem_map_params_t, *mut ucp_mem_h) -> ucs_status_t;
    /// `ucp_mem_query`.
    fn ucp_mem_query(ucp_mem_h, *mut ucp_mem_attr_t) -> ucs_status_t;
    /// `ucp_mem_unmap`.
    fn ucp_mem_unmap(ucp_context_h, ucp_mem_h) -> ucs_status_t;
    /// `ucp_rkey_pack`.
    fn ucp_rkey_pack(ucp_context_h, ucp_mem_h, *mut *mut c_void, *mut usize) -> ucs_status_t;
    /// `ucp_rkey_buffer_release`.
    fn ucp_rkey_buffer_release(*mut c_void);
    /// `ucp_ep_rkey_unpack`.
    fn ucp_ep_rkey_unpack(ucp_ep_h, *const c_void, *mut ucp_rkey_h) -> ucs_status_t;
    /// `ucp_rkey_destroy`.
    fn ucp_rkey_destroy(ucp_rkey_h);
    /// `ucp_tag_send_nbx`.
    fn ucp_tag_send_nbx(ucp_ep_h, *const c_void, usize, ucp_tag_t, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_tag_recv_nbx`.
    fn ucp_tag_recv_nbx(ucp_worker_h, *mut c_void, usize, ucp_tag_t, ucp_tag_t, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_put_nbx`.
    fn ucp_put_nbx(ucp_ep_h, *const c_void, usize, u64, ucp_rkey_h, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_get_nbx`.
    fn ucp_get_nbx(ucp_ep_h, *mut c_void, usize, u64, ucp_rkey_h, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_am_send_nbx`.
    fn ucp_am_send_nbx(ucp_ep_h, c_uint, *const c_void, usize, *const c_void, usize, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_am_recv_data_nbx`.
    fn ucp_am_recv_data_nbx(ucp_worker_h, *mut c_void, *mut c_void, usize, *const ucp_request_param_t) -> ucs_status_ptr_t;
    /// `ucp_am_data_release`.
    fn ucp_am_data_release(ucp_worker_h, *mut c_void);
    /// `ucp_request_cancel`.
    fn ucp_request_cancel(ucp_worker_h, *mut c_void);
    /// `ucp_request_check_status`.
    fn ucp_request_check_status(*mut c_void) -> ucs_status_t;
    /// `ucp_request_free`.
    fn ucp_request_free(*mut c_void);
}

impl Functions {
    /// Release of the library.
    pub(super) fn version(&self) -> Version {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: each pointer has room for one number.
        unsafe { (self.ucp_get_version)(&mut major, &mut minor, &mut patch) };
        Version::new(major, minor, patch)
    }
}
