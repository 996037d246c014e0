//! Opens one agent with its backend, and exchanges metadata with peers.

use super::agent_config::AgentConfig;
use super::objects::{Objects, take_bytes, take_memory_types, take_string, take_strings};
use super::rail::{PeerAgent, Rail};
use super::{CallError, call, check};
use crate::transport::Peer;
use crds::v1alpha1::{NixlBackend, NixlParameter};
use nixl_sys::{
    Agent, Backend, Library, MemoryList, NotificationMap, OptionalArguments, Parameters, SYNC_NONE,
    StringList,
};
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// Error from opening an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) enum OpenError {
    /// NIXL has no plugin for the backend. Contains the names of the available plugins.
    NoPlugin(Vec<String>),
    /// The plugin exists but cannot be loaded.
    PluginNotLoaded(CallError),
    /// A parameter contains a NUL byte.
    InvalidParameter(String),
    /// Another call failed.
    Call(CallError),
}

impl From<CallError> for OpenError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// Returns the name of a backend's plugin.
fn plugin(backend: NixlBackend) -> &'static CStr {
    match backend {
        NixlBackend::Ucx => c"UCX",
        NixlBackend::Libfabric => c"LIBFABRIC",
    }
}

impl Rail {
    /// Creates an agent and its backend.
    ///
    /// # Errors
    ///
    /// Returns the error. Objects that had already been created are destroyed.
    pub(in crate::transport::nixl) fn open(
        library: &Arc<Library>,
        config: &AgentConfig,
    ) -> Result<Self, OpenError> {
        let agent_config = nixl_sys::AgentConfig {
            enable_prog_thread: config.progress_thread,
            enable_listen_thread: false,
            listen_port: 0,
            thread_sync: SYNC_NONE,
            num_workers: 1,
            pthr_delay_us: 0,
            lthr_delay_us: 0,
            capture_telemetry: config.measures_steps,
        };
        let mut agent = Agent::NULL;
        let status = call!(
            library,
            create_configured_agent(config.name.as_ptr(), &agent_config, &mut agent)
        );
        check("create_configured_agent", status)?;
        let mut objects = Objects::new(library, agent);
        objects.backend = create_backend(&objects, config)?;
        let mut arguments = [OptionalArguments::NULL; 2];
        for argument in &mut arguments {
            check("create_opt_args", call!(library, create_opt_args(argument)))?;
        }
        [objects.arguments, objects.notifying] = arguments;
        for argument in arguments {
            let status = call!(library, opt_args_add_backend(argument, objects.backend));
            check("opt_args_add_backend", status)?;
            let merges = config.descriptors.is_some_and(|descriptors| descriptors.merge);
            let status = call!(library, opt_args_set_skip_desc_merge(argument, !merges));
            check("opt_args_set_skip_desc_merge", status)?;
        }
        let status = call!(library, opt_args_set_has_notif(objects.notifying, true));
        check("opt_args_set_has_notif", status)?;
        let mut notifications = NotificationMap::NULL;
        let status = call!(library, create_notif_map(&mut notifications));
        check("create_notif_map", status)?;
        objects.notifications = notifications;
        Rail::new(objects, config).map_err(OpenError::Call)
    }

    /// This agent's metadata, which peers use to connect to it.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(in crate::transport::nixl) fn metadata(&self) -> Result<Vec<u8>, CallError> {
        let (mut data, mut length) = (std::ptr::null_mut(), 0);
        let objects = &self.objects;
        let status = call!(
            objects.library,
            get_local_md(objects.agent, &mut data, &mut length)
        );
        check("get_local_md", status)?;
        Ok(take_bytes(data, length))
    }

    /// Loads a peer's metadata and connects to the peer.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(in crate::transport::nixl) fn add_peer(&mut self, metadata: &[u8]) -> Result<Peer, CallError> {
        let name = self.load(metadata)?;
        let objects = &self.objects;
        let status = call!(
            objects.library,
            agent_make_connection(objects.agent, name.as_ptr(), objects.arguments)
        );
        check("agent_make_connection", status)?;
        self.peers.push(PeerAgent { name });
        Ok(self.peers.len() - 1)
    }

    /// Loads metadata from a peer. Returns the name of the peer's agent.
    pub(super) fn load(&mut self, metadata: &[u8]) -> Result<CString, CallError> {
        let objects = &self.objects;
        let mut name = std::ptr::null_mut();
        let status = call!(
            objects.library,
            load_remote_md(objects.agent, metadata.as_ptr().cast(), metadata.len(), &mut name)
        );
        check("load_remote_md", status)?;
        Ok(take_string(name).unwrap_or_default())
    }
}

fn create_backend(objects: &Objects, config: &AgentConfig) -> Result<Backend, OpenError> {
    let (library, agent) = (&objects.library, objects.agent);
    let mut list = StringList::NULL;
    let status = call!(library, get_available_plugins(agent, &mut list));
    check("get_available_plugins", status)?;
    let plugins = take_strings(library, list);
    if !plugins.iter().any(|plugin| plugin == config.backend.name()) {
        return Err(OpenError::NoPlugin(plugins));
    }
    let plugin = plugin(config.backend);
    let (mut types, mut parameters) = (MemoryList::NULL, Parameters::NULL);
    let status = call!(
        library,
        get_plugin_params(agent, plugin.as_ptr(), &mut types, &mut parameters)
    );
    check("get_plugin_params", status).map_err(OpenError::PluginNotLoaded)?;
    take_memory_types(library, types);
    let backend = create_with_parameters(objects, config, parameters);
    call!(library, destroy_params(parameters));
    backend
}

fn create_with_parameters(
    objects: &Objects,
    config: &AgentConfig,
    parameters: Parameters,
) -> Result<Backend, OpenError> {
    let library = &objects.library;
    let mark = (NixlParameter::MARK.to_owned(), config.backend.name().to_owned());
    for (name, value) in config.parameters.iter().chain([&mark]) {
        let (Ok(c_name), Ok(c_value)) = (CString::new(name.as_str()), CString::new(value.as_str())) else {
            return Err(OpenError::InvalidParameter(name.clone()));
        };
        let status = call!(library, params_add(parameters, c_name.as_ptr(), c_value.as_ptr()));
        check("params_add", status)?;
    }
    let mut backend = Backend::NULL;
    let status = call!(
        library,
        create_backend(
            objects.agent,
            plugin(config.backend).as_ptr(),
            parameters,
            &mut backend
        )
    );
    check("create_backend", status)?;
    Ok(backend)
}
