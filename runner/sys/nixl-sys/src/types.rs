//! Types of the C interface.

use std::ffi::{c_int, c_uint, c_void};

/// `nixl_capi_status_t`.
pub type Status = c_int;
/// Success, or a completed request.
pub const SUCCESS: Status = 0;
/// The request is in progress.
pub const IN_PROGRESS: Status = 1;
/// An argument is not valid.
pub const ERROR_INVALID_PARAM: Status = -1;
/// The agent or the backend failed. The interface reports most failures with this status, including a lost peer.
pub const ERROR_BACKEND: Status = -2;
/// The object is in the wrong state.
pub const ERROR_INVALID_STATE: Status = -3;
/// An exception was thrown.
pub const ERROR_EXCEPTION: Status = -4;
/// The agent captures no telemetry.
pub const ERROR_NO_TELEMETRY: Status = -5;
/// The agent's metadata is not loaded, or no backend serves the request.
pub const ERROR_NOT_FOUND: Status = -6;

/// Name of a status in the C interface, without the prefix.
pub fn status_name(status: Status) -> &'static str {
    match status {
        SUCCESS => "SUCCESS",
        IN_PROGRESS => "IN_PROG",
        ERROR_INVALID_PARAM => "ERROR_INVALID_PARAM",
        ERROR_BACKEND => "ERROR_BACKEND",
        ERROR_INVALID_STATE => "ERROR_INVALID_STATE",
        ERROR_EXCEPTION => "ERROR_EXCEPTION",
        ERROR_NO_TELEMETRY => "ERROR_NO_TELEMETRY",
        ERROR_NOT_FOUND => "ERROR_NOT_FOUND",
        _ => "unknown status",
    }
}

/// `nixl_capi_mem_type_t`.
pub type MemoryType = c_int;
/// Host memory.
pub const DRAM: MemoryType = 0;
/// GPU memory.
pub const VRAM: MemoryType = 1;

/// `nixl_capi_xfer_op_t`.
pub type Operation = c_int;
/// Read from the remote agent.
pub const READ: Operation = 0;
/// Write to the remote agent.
pub const WRITE: Operation = 1;

/// The agent is used by one thread at a time (`NIXL_CAPI_THREAD_SYNC_NONE`).
pub const SYNC_NONE: c_int = 0;

/// `nixl_capi_agent_config_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AgentConfig {
    /// Whether the agent runs a progress thread.
    pub enable_prog_thread: bool,
    /// Whether the agent listens for metadata.
    pub enable_listen_thread: bool,
    /// Port to listen on.
    pub listen_port: c_int,
    /// Thread synchronization mode: [`SYNC_NONE`].
    pub thread_sync: c_int,
    /// Not used by the library.
    pub num_workers: c_uint,
    /// Progress thread delay, in microseconds.
    pub pthr_delay_us: u64,
    /// Listener thread delay, in microseconds.
    pub lthr_delay_us: u64,
    /// Whether the agent captures request telemetry.
    pub capture_telemetry: bool,
}

/// `struct nixl_capi_xfer_telemetry_s`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Start of the request, in microseconds.
    pub start_time_us: u64,
    /// Duration of the post, in microseconds.
    pub post_duration_us: u64,
    /// Time from the start of the post to the completion, in microseconds.
    pub xfer_duration_us: u64,
    /// Number of bytes.
    pub total_bytes: u64,
    /// Number of descriptors.
    pub desc_count: u64,
}

/// Declares pointers to opaque objects, each with a separate type.
macro_rules! handles {
    ($($(#[$doc:meta])+ $name:ident;)+) => {
        $(
            $(#[$doc])+
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name(*mut c_void);

            impl $name {
                /// Null handle. The library replaces it with the object that it creates.
                pub const NULL: Self = Self(std::ptr::null_mut());

                /// Whether this is the null handle.
                pub fn is_null(self) -> bool {
                    self.0.is_null()
                }
            }

            // SAFETY: the handle is an address. The contract of the functions specifies which threads may use the object.
            unsafe impl Send for $name {}
        )+
    };
}

handles! {
    /// `nixl_capi_agent_t`.
    Agent;
    /// `nixl_capi_backend_t`.
    Backend;
    /// `nixl_capi_params_t`.
    Parameters;
    /// `nixl_capi_param_iter_t`.
    ParameterIterator;
    /// `nixl_capi_mem_list_t`.
    MemoryList;
    /// `nixl_capi_string_list_t`.
    StringList;
    /// `nixl_capi_opt_args_t`.
    OptionalArguments;
    /// `nixl_capi_reg_dlist_t`.
    RegistrationList;
    /// `nixl_capi_xfer_dlist_t`.
    TransferList;
    /// `nixl_capi_xfer_dlist_handle_t`.
    PreparedList;
    /// `nixl_capi_xfer_req_t`.
    Request;
    /// `nixl_capi_notif_map_t`.
    NotificationMap;
}
