//! All of this transport's calls to NIXL and raw memory accesses. Everything that this module exports is safe: a
//! [`Rail`] owns all objects of one agent and is used by one thread at a time. A [`RailRegion`] is memory that is
//! registered with one agent, and keeps the agent open.
#![allow(unsafe_code)]

mod agent;
mod agent_config;
mod completion;
mod objects;
mod posting;
mod rail;
mod region;
mod requests;

pub(super) use agent::OpenError;
pub(super) use agent_config::AgentConfig;
pub(super) use posting::RemoteTarget;
pub use rail::Rail;
pub(super) use rail::TransferError;
pub use region::RailRegion;

use nixl_sys::{SUCCESS, Status, status_name};

/// Calls a library function.
///
/// Every use is in this module, and fulfills the contract of [`nixl_sys::Functions`]:
///
/// * the objects are owned by types in this module, which destroy each object once, children before parents;
/// * only one thread at a time uses an agent, because the methods that call the library take an exclusive reference to
///   the agent's [`Rail`];
/// * strings are C strings;
/// * results point to local variables of the result's type.
macro_rules! call {
    ($library:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        #[allow(clippy::macro_metavars_in_unsafe, reason = "all uses are in this module; see above")]
        // SAFETY: the contract above.
        let result = unsafe { ($library.functions().$function)($($argument),*) };
        result
    }};
}
use call;

/// Failed library call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    /// Name of the call without the `nixl_capi_` prefix.
    pub call: &'static str,
    /// Negative status.
    pub status: Status,
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { call, status } = self;
        write!(
            f,
            "{call} returned {} ({status}); set NIXL_LOG_LEVEL=DEBUG to make NIXL log the cause",
            status_name(*status)
        )
    }
}

/// Converts a status to a result.
fn check(call: &'static str, status: Status) -> Result<(), CallError> {
    if status == SUCCESS {
        Ok(())
    } else {
        Err(CallError { call, status })
    }
}
