//! Resolves the functions that the library exports. The interface has no symbol versions.

use crate::types::{
    Agent, AgentConfig, Backend, MemoryList, MemoryType, NotificationMap, Operation, OptionalArguments,
    ParameterIterator, Parameters, PreparedList, RegistrationList, Request, Status, StringList, Telemetry,
    TransferList,
};
use shared_library::{LoadedLibrary, OpenError};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Declares the functions, each named without its `nixl_capi_` prefix.
macro_rules! functions {
    ($(fn $name:ident($($type:ty),*) -> $result:ty;)+) => {
        /// Functions that the library exports: code addresses in a library that is never unloaded. Each field is the
        /// function of the same name with the `nixl_capi_` prefix.
        ///
        /// All functions have the same contract:
        ///
        /// * every object comes from the same loaded library and has not been destroyed, and objects of one agent are
        ///   used by one thread at a time;
        /// * every string and buffer is valid for the duration of the call, and there is room for every result;
        /// * memory stays valid until it is deregistered, and a request until it is released;
        /// * an object that the library stores in a result belongs to the caller, who destroys it.
        #[derive(Debug, Clone, Copy)]
        #[allow(missing_docs, reason = "named after the C functions")]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($type),*) -> $result,)+
        }

        impl Functions {
            /// Names of all functions.
            #[cfg(test)]
            pub(crate) const NAMES: &'static [&'static str] = &[$(concat!("nixl_capi_", stringify!($name))),+];

            /// Resolves all functions in an open library.
            ///
            /// # Errors
            ///
            /// Returns `SymbolMissing` if the library lacks a function.
            pub(super) fn resolve(loaded: &LoadedLibrary) -> Result<Self, OpenError> {
                Ok(Self {
                    $($name: {
                        let name = concat!("nixl_capi_", stringify!($name), "\0");
                        let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                        let address = loaded.require(name, None)?.as_ptr();
                        // SAFETY: the address belongs to the C function with this name, whose declaration has this type.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
                        }
                    },)+
                })
            }
        }
    };
}

functions! {
    fn is_stub() -> bool;
    fn create_configured_agent(*const c_char, *const AgentConfig, *mut Agent) -> Status;
    fn destroy_agent(Agent) -> Status;
    fn get_local_md(Agent, *mut *mut c_void, *mut usize) -> Status;
    fn get_local_partial_md(Agent, RegistrationList, *mut *mut c_void, *mut usize, OptionalArguments) -> Status;
    fn load_remote_md(Agent, *const c_void, usize, *mut *mut c_char) -> Status;
    fn check_remote_md(Agent, *const c_char, TransferList) -> Status;
    fn agent_make_connection(Agent, *const c_char, OptionalArguments) -> Status;
    fn get_available_plugins(Agent, *mut StringList) -> Status;
    fn string_list_size(StringList, *mut usize) -> Status;
    fn string_list_get(StringList, usize, *mut *const c_char) -> Status;
    fn destroy_string_list(StringList) -> Status;
    fn get_plugin_params(Agent, *const c_char, *mut MemoryList, *mut Parameters) -> Status;
    fn mem_list_size(MemoryList, *mut usize) -> Status;
    fn mem_list_get(MemoryList, usize, *mut MemoryType) -> Status;
    fn destroy_mem_list(MemoryList) -> Status;
    fn params_add(Parameters, *const c_char, *const c_char) -> Status;
    fn params_create_iterator(Parameters, *mut ParameterIterator) -> Status;
    fn params_iterator_next(ParameterIterator, *mut *const c_char, *mut *const c_char, *mut bool) -> Status;
    fn params_destroy_iterator(ParameterIterator) -> Status;
    fn destroy_params(Parameters) -> Status;
    fn create_backend(Agent, *const c_char, Parameters, *mut Backend) -> Status;
    fn get_backend_params(Agent, Backend, *mut MemoryList, *mut Parameters) -> Status;
    fn destroy_backend(Backend) -> Status;
    fn create_opt_args(*mut OptionalArguments) -> Status;
    fn opt_args_add_backend(OptionalArguments, Backend) -> Status;
    fn opt_args_set_notif_msg(OptionalArguments, *const c_void, usize) -> Status;
    fn opt_args_set_has_notif(OptionalArguments, bool) -> Status;
    fn opt_args_set_skip_desc_merge(OptionalArguments, bool) -> Status;
    fn destroy_opt_args(OptionalArguments) -> Status;
    fn create_reg_dlist(MemoryType, *mut RegistrationList) -> Status;
    fn reg_dlist_add_desc(RegistrationList, usize, usize, u64, *const c_void, usize) -> Status;
    fn destroy_reg_dlist(RegistrationList) -> Status;
    fn register_mem(Agent, RegistrationList, OptionalArguments) -> Status;
    fn deregister_mem(Agent, RegistrationList, OptionalArguments) -> Status;
    fn create_xfer_dlist(MemoryType, *mut TransferList) -> Status;
    fn xfer_dlist_add_desc(TransferList, usize, usize, u64) -> Status;
    fn xfer_dlist_clear(TransferList) -> Status;
    fn destroy_xfer_dlist(TransferList) -> Status;
    fn prep_xfer_dlist(Agent, *const c_char, TransferList, *mut PreparedList, OptionalArguments) -> Status;
    fn release_xfer_dlist_handle(Agent, PreparedList) -> Status;
    fn make_xfer_req(Agent, Operation, PreparedList, *const c_int, usize, PreparedList, *const c_int, usize, *mut Request, OptionalArguments) -> Status;
    fn create_xfer_req(Agent, Operation, TransferList, TransferList, *const c_char, *mut Request, OptionalArguments) -> Status;
    fn post_xfer_req(Agent, Request, OptionalArguments) -> Status;
    fn get_xfer_status(Agent, Request) -> Status;
    fn query_xfer_backend(Agent, Request, *mut Backend) -> Status;
    fn get_xfer_telemetry(Agent, Request, *mut Telemetry) -> Status;
    fn release_xfer_req(Agent, Request) -> Status;
    fn destroy_xfer_req(Request) -> Status;
    fn create_notif_map(*mut NotificationMap) -> Status;
    fn notif_map_size(NotificationMap, *mut usize) -> Status;
    fn notif_map_get_agent_at(NotificationMap, usize, *mut *const c_char) -> Status;
    fn notif_map_get_notifs_size(NotificationMap, *const c_char, *mut usize) -> Status;
    fn notif_map_get_notif(NotificationMap, *const c_char, usize, *mut *const c_void, *mut usize) -> Status;
    fn notif_map_clear(NotificationMap) -> Status;
    fn destroy_notif_map(NotificationMap) -> Status;
    fn get_notifs(Agent, NotificationMap, OptionalArguments) -> Status;
    fn gen_notif(Agent, *const c_char, *const c_void, usize, OptionalArguments) -> Status;
}
