//! Declarations for NIXL's C interface. The library is opened at run time, so that a binary uses the library in the
//! container where it runs: `libnixl_capi.so` from release 1.4 or any later release with this file name.
//!
//! NIXL does not install a header for the interface, and the interface has no version. The declarations are therefore
//! written by hand, from `wrapper.h` in version 1.5.2 of the `nixl-sys` crate, for the functions that fabricbench
//! calls. Every function is looked up when the library is opened. If a function is missing, the error names it. All
//! objects are opaque handles. The only structs that cross the interface are [`AgentConfig`] and [`Telemetry`].
//!
//! An opened library stays loaded until the process exits, because its plug-ins run threads whose code must stay
//! mapped. A process that has used the UCX backend must exit with `_exit`, because a global destructor in NIXL 1.4 and
//! 1.5 crashes.

mod functions;
mod library;
mod types;

pub use functions::Functions;
pub use library::{Identity, Library};
pub use shared_library::{OpenError, Source};
pub use types::{
    Agent, AgentConfig, Backend, DRAM, ERROR_BACKEND, ERROR_EXCEPTION, ERROR_INVALID_PARAM,
    ERROR_INVALID_STATE, ERROR_NO_TELEMETRY, ERROR_NOT_FOUND, IN_PROGRESS, MemoryList, MemoryType,
    NotificationMap, Operation, OptionalArguments, ParameterIterator, Parameters, PreparedList, READ,
    RegistrationList, Request, SUCCESS, SYNC_NONE, Status, StringList, Telemetry, TransferList, VRAM, WRITE,
    status_name,
};
