//! Configuration of one agent.

use crds::v1alpha1::{NixlBackend, NixlDescriptors, NixlRequests};
use std::ffi::CString;

/// Configuration of one agent.
#[derive(Clone, Debug)]
pub(in crate::transport::nixl) struct AgentConfig {
    /// Agent name. It must differ from the names of all peers.
    pub name: CString,
    pub backend: NixlBackend,
    /// Backend parameters, by name.
    pub parameters: Vec<(String, String)>,
    pub progress_thread: bool,
    /// Whether the agent captures telemetry and the rail measures the transfer steps. These measurements slow down
    /// posts.
    pub measures_steps: bool,
    pub requests: NixlRequests,
    /// How each transfer is split into descriptors; `None` for a single descriptor.
    pub descriptors: Option<NixlDescriptors>,
    /// Maximum number of posts in flight.
    pub depth: usize,
}
