//! Library and provider that transfer the data.

mod ucx_transport;

use serde::{Deserialize, Serialize};

pub use ucx_transport::{UcxTransport, tls_value, unrequested_lane, uses_memory_lane};

use crate::units::Size;

/// Library that transfers the data. Exactly one must be set. fabricbench never falls back to another library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TransportSpec {
    /// Built-in transport over shared memory between processes on the same machine, for tests.
    Loopback(Loopback),
    /// libfabric, loaded at run time.
    Libfabric(Libfabric),
    /// UCX (UCP), loaded at run time.
    Ucx(Ucx),
    /// NIXL, with one of its backend plugins.
    Nixl(Nixl),
    /// ibverbs, used directly.
    Verbs(Verbs),
}

impl TransportSpec {
    /// Name of the library in manifests.
    pub fn library(&self) -> &'static str {
        match self {
            Self::Loopback(_) => "loopback",
            Self::Libfabric(_) => "libfabric",
            Self::Ucx(_) => "ucx",
            Self::Nixl(_) => "nixl",
            Self::Verbs(_) => "verbs",
        }
    }

    /// Number of endpoints per worker over which a transfer can be striped.
    pub fn rails(&self) -> u32 {
        match self {
            Self::Loopback(Loopback { rails })
            | Self::Libfabric(Libfabric { rails, .. })
            | Self::Ucx(Ucx { rails, .. })
            | Self::Nixl(Nixl { rails, .. })
            | Self::Verbs(Verbs { rails, .. }) => *rails,
        }
    }

    /// Whether the library allocates the payload memory.
    pub fn allocates_memory(&self) -> bool {
        matches!(self, Self::Ucx(ucx) if ucx.allocation == UcxAllocation::Library)
    }

    /// Whether a write completes when its source memory can be reused, before its data has arrived.
    pub fn completes_writes_locally(&self) -> bool {
        matches!(self, Self::Ucx(ucx) if ucx.write_completion == UcxWriteCompletion::Local)
    }

    /// Whether each rail uses an EFA device.
    pub fn uses_efa(&self) -> bool {
        use LibfabricProvider::{Efa, EfaDirect};
        matches!(self, Self::Libfabric(libfabric) if matches!(libfabric.provider, Efa | EfaDirect))
    }

    /// Whether each rail uses an IP address.
    pub fn uses_ip(&self) -> bool {
        use LibfabricProvider::{Net, Tcp, TcpRxm};
        match self {
            Self::Libfabric(libfabric) => matches!(libfabric.provider, Tcp | Net | TcpRxm),
            Self::Ucx(ucx) => ucx.uses(UcxTransport::Tcp) && !ucx.uses_rdma() && !ucx.uses_all(),
            // The library chooses the devices, unless rail sources name them.
            Self::Loopback(_) | Self::Nixl(_) | Self::Verbs(_) => false,
        }
    }

    /// Whether rails use RDMA devices, whose hardware counters the kernel caches.
    pub fn uses_rdma_devices(&self) -> bool {
        self.uses_nics() && !self.uses_ip()
    }

    /// Whether rails use NICs. Rails over shared memory do not.
    pub fn uses_nics(&self) -> bool {
        match self {
            Self::Loopback(_) => false,
            Self::Libfabric(libfabric) => libfabric.provider != LibfabricProvider::Shm,
            Self::Ucx(ucx) => ucx.uses_network(),
            Self::Nixl(_) | Self::Verbs(_) => true,
        }
    }
}

/// Built-in shared memory transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Loopback {
    /// Number of rails. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// libfabric with one provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Libfabric {
    /// Name of the provider in libfabric 2.x.
    pub provider: LibfabricProvider,
    /// Number of rails. Each rail is one endpoint, on a separate NIC if the fabric has NICs. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// libfabric provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LibfabricProvider {
    /// Native TCP. This provider is called `net` in libfabric versions before 1.18.
    #[serde(rename = "tcp")]
    Tcp,
    /// Native TCP under the name `net`, which exists only in libfabric versions before 1.18.
    #[serde(rename = "net")]
    Net,
    /// Reliable-datagram layer over TCP message endpoints.
    #[serde(rename = "tcp;ofi_rxm")]
    TcpRxm,
    /// Shared memory between processes on the same host.
    #[serde(rename = "shm")]
    Shm,
    /// Reliable-datagram layer over verbs message endpoints on InfiniBand, RoCE or iWARP.
    #[serde(rename = "verbs;ofi_rxm", alias = "verbs")]
    Verbs,
    /// AWS EFA with the provider's software protocol.
    #[serde(rename = "efa")]
    Efa,
    /// AWS EFA without a software protocol on top of the device.
    #[serde(rename = "efa-direct")]
    EfaDirect,
}

impl LibfabricProvider {
    /// Name of the provider in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Net => "net",
            Self::TcpRxm => "tcp;ofi_rxm",
            Self::Shm => "shm",
            Self::Verbs => "verbs;ofi_rxm",
            Self::Efa => "efa",
            Self::EfaDirect => "efa-direct",
        }
    }
}

/// UCX with a list of allowed transports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ucx {
    /// Transports that UCX may use (`UCX_TLS`). The run fails if UCX uses another one.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 8)))]
    pub transports: Vec<UcxTransport>,
    /// Number of rails. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
    /// Preset of UCX settings: `plain` for UCX's own defaults, `nixl` for the settings of NIXL's UCX backend, or `ucxx`
    /// for the settings of UCXX, the UCX bindings of RAPIDS. Defaults to `plain`.
    #[serde(default, skip_serializing_if = "UcxPreset::is_default")]
    pub preset: UcxPreset,
    /// Individual settings, which override the settings of the preset. A `UCX_*` variable in a variant's environment
    /// takes precedence over the preset, but is rejected if it would override an individual setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub settings: Vec<UcxSetting>,
    /// Whether UCX may emulate RMA operations with messages. Defaults to `Deny`.
    #[serde(default, skip_serializing_if = "UcxEmulation::is_default")]
    pub emulation: UcxEmulation,
    /// Error handling mode of the endpoints. If unset, the mode is `Peer`, or `None` if `transports` contains a
    /// shared-memory transport (`sm`, `posix`, `sysv`, `xpmem`, `knem`, `cma` or `all`). UCX
    /// selects different protocols in each mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_handling: Option<UcxErrorHandling>,
    /// Whether the runner or UCX allocates the payload memory. Defaults to `Caller`.
    #[serde(default, skip_serializing_if = "UcxAllocation::is_default")]
    pub allocation: UcxAllocation,
    /// UCX calls that transfer messages. Defaults to `Tag`.
    #[serde(default, skip_serializing_if = "UcxMessages::is_default")]
    pub messages: UcxMessages,
    /// Event that completes a write: a flush that covers it (`Delivery`, the default), or that its source memory can be
    /// reused (`Local`).
    #[serde(default, skip_serializing_if = "UcxWriteCompletion::is_default")]
    pub write_completion: UcxWriteCompletion,
}

impl Ucx {
    /// Creates a specification with default settings.
    pub fn new(transports: Vec<UcxTransport>, rails: u32) -> Self {
        Self {
            transports,
            rails,
            preset: UcxPreset::default(),
            settings: Vec::new(),
            emulation: UcxEmulation::default(),
            error_handling: None,
            allocation: UcxAllocation::default(),
            messages: UcxMessages::default(),
            write_completion: UcxWriteCompletion::default(),
        }
    }

    /// Error handling mode of the endpoints. Shared memory does not support `Peer` by default: UCX would reject the
    /// endpoint, or emulate RMA over another transport.
    pub fn error_handling(&self) -> UcxErrorHandling {
        let is_in_memory = |transport: &UcxTransport| transport.may_use_shared_memory();
        self.error_handling
            .unwrap_or(match self.transports.iter().any(is_in_memory) {
                true => UcxErrorHandling::None,
                false => UcxErrorHandling::Peer,
            })
    }

    /// Whether UCX may use `transport`.
    pub fn uses(&self, transport: UcxTransport) -> bool {
        self.transports.contains(&transport)
    }

    /// Whether UCX may use every transport that it has.
    pub fn uses_all(&self) -> bool {
        self.uses(UcxTransport::All)
    }

    /// Whether UCX may use a transport over network interfaces or RDMA devices.
    pub fn uses_network(&self) -> bool {
        self.uses(UcxTransport::Tcp) || self.uses_rdma() || self.uses_all()
    }

    /// Whether `transports` names a transport over RDMA devices.
    pub fn uses_rdma(&self) -> bool {
        self.transports.iter().any(|transport| transport.is_rdma())
    }
}

/// UCX settings that an application uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum UcxPreset {
    /// UCX's own defaults.
    #[default]
    Plain,
    /// Settings of NIXL's UCX backend.
    Nixl,
    /// Settings of UCXX, the UCX bindings of RAPIDS.
    Ucxx,
}

impl UcxPreset {
    /// Name of the preset in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Nixl => "nixl",
            Self::Ucxx => "ucxx",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// UCX setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UcxSetting {
    /// Name of the setting, without the prefix `UCX_`. Transports and devices have separate fields.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 100), regex(pattern = "^[A-Z][A-Z0-9_]*$"))
    )]
    pub name: String,
    /// Value of the setting.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 200), regex(pattern = r"^[^\x00-\x1f\x7f]*$"))
    )]
    pub value: String,
}

impl UcxSetting {
    /// Whether the setting is determined by fields of the spec or by the rail devices.
    pub fn is_reserved(&self) -> bool {
        matches!(
            self.name.as_str(),
            "TLS" | "NET_DEVICES" | "PROTO_EMULATION_ENABLE" | "PROTO_INFO"
        )
    }
}

/// Whether UCX may emulate RMA operations with messages, which the CPU of the target executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum UcxEmulation {
    /// A scenario fails if UCX would emulate its operation.
    #[default]
    Deny,
    /// Emulated operations are measured, and the report says that they are emulated.
    Allow,
}

impl UcxEmulation {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether the runner or UCX allocates the payload memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum UcxAllocation {
    /// The runner allocates the memory, and UCX registers it.
    #[default]
    Caller,
    /// UCX allocates the memory (`UCP_MEM_MAP_ALLOCATE`), as in ucx_perftest. A peer can then access it directly over
    /// shared memory. Each arm has separate memory. Requires `rails: 1` and scenarios with `memory: Heap`.
    Library,
}

/// Calls that transfer messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum UcxMessages {
    /// Tagged messages (`ucp_tag_send_nbx`).
    #[default]
    Tag,
    /// Active messages (`ucp_am_send_nbx`), which the target receives into posted buffers in arrival order.
    ActiveMessage,
}

/// Event that completes a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum UcxWriteCompletion {
    /// A flush of the endpoint has completed, so the data is in the target's memory.
    #[default]
    Delivery,
    /// The source memory can be reused, as in ucx_perftest. The time of all writes together extends to the completion of a
    /// flush that follows the last one. Requires unidirectional writes in a closed loop.
    Local,
}

impl UcxWriteCompletion {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl UcxMessages {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl UcxAllocation {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Error handling mode of the UCX endpoints. If unset, the mode is `Peer`, or `None` if `transports`
/// contains a shared-memory transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum UcxErrorHandling {
    /// UCX reports the loss of a peer (`UCP_ERR_HANDLING_MODE_PEER`). UCX 1.22 then emulates writes over tcp.
    Peer,
    /// UCX does not report the loss of a peer (`UCP_ERR_HANDLING_MODE_NONE`), so a case that loses its peer ends at its
    /// deadline.
    None,
}

impl UcxErrorHandling {
    /// Name of the mode in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::None => "none",
        }
    }
}

/// NIXL agents with one backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Nixl {
    /// Backend plugin that transfers the data. The run fails if another backend serves a request.
    pub backend: NixlBackend,
    /// Number of rails. Each rail is one agent. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
    /// Parameters for creating the backend, such as `num_workers` or `engine_config`. Other parameters have the
    /// plugin's defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub parameters: Vec<NixlParameter>,
    /// When transfer requests are created. Defaults to `Prepared`.
    #[serde(default, skip_serializing_if = "NixlRequests::is_default")]
    pub requests: NixlRequests,
    /// Whether each agent runs a separate progress thread, which competes for a CPU with the thread that polls.
    /// Defaults to false, as in NIXL's C++ interface.
    #[serde(default, skip_serializing_if = "is_false")]
    pub progress_thread: bool,
    /// How each transfer is divided into descriptors. By default, one descriptor covers the whole transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<NixlDescriptors>,
}

/// Descriptors of a transfer. One request posts all of them, and they complete together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NixlDescriptors {
    /// Maximum size of a descriptor. A transfer may have at most 131072 descriptors.
    pub max_bytes: Size,
    /// Whether NIXL may merge adjacent descriptors when it creates a request, as it does by default in applications.
    /// Defaults to false, so that the backend receives every descriptor. Requires `requests: Prepared`, because NIXL
    /// merges only prepared lists.
    #[serde(default, skip_serializing_if = "is_false")]
    pub merge: bool,
}

impl NixlDescriptors {
    /// Maximum number of descriptors of a transfer.
    pub const MAX_COUNT: u64 = 131_072;
}

impl Nixl {
    /// Creates a specification with default settings.
    pub fn new(backend: NixlBackend, rails: u32) -> Self {
        Self {
            backend,
            rails,
            parameters: Vec::new(),
            requests: NixlRequests::default(),
            progress_thread: false,
            descriptors: None,
        }
    }

    /// Returns the value of a parameter; `None` if it is not listed.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name)?;
        Some(&parameter.value)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// NIXL backend plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "NIXL's own names")]
pub enum NixlBackend {
    Ucx,
    Libfabric,
}

impl NixlBackend {
    /// Name of the plugin in manifests and in NIXL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ucx => "UCX",
            Self::Libfabric => "LIBFABRIC",
        }
    }
}

/// Parameter of a NIXL backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NixlParameter {
    /// Name of the parameter. `device_list` cannot be set, because the rail devices determine it.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 100), regex(pattern = "^[a-z][a-z0-9_]*$"))
    )]
    pub name: String,
    /// Value of the parameter.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 200), regex(pattern = r"^[^\x00-\x1f\x7f]*$"))
    )]
    pub value: String,
}

impl NixlParameter {
    /// Name of the parameter that marks the backend as created by fabricbench.
    pub const MARK: &str = "fabricbench_backend";

    /// Whether the parameter is determined by the rail devices or by fabricbench itself.
    pub fn is_reserved(&self) -> bool {
        matches!(self.name.as_str(), "device_list" | Self::MARK)
    }
}

/// When transfer requests are created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum NixlRequests {
    /// A request is prepared once for each location in the memory of both sides (`prepXferDlist` and
    /// `makeXferReq`), and posted again for each transfer. The preparation is not part of a sample.
    #[default]
    Prepared,
    /// A request is created for each transfer (`createXferReq`), as part of the sample, and released afterwards.
    Created,
}

impl NixlRequests {
    /// Name of the value in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Created => "created",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// ibverbs with reliable connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verbs {
    /// Number of rails. Each rail has queue pairs on a separate NIC. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
    /// Which work requests generate a completion. Defaults to `EveryPost`.
    #[serde(default, skip_serializing_if = "VerbsSignaling::is_default")]
    pub signaling: VerbsSignaling,
}

impl Verbs {
    /// Creates a specification with default settings.
    pub fn new(rails: u32) -> Self {
        Self {
            rails,
            signaling: VerbsSignaling::default(),
        }
    }
}

/// Which work requests generate a completion (IBV_SEND_SIGNALED). Injected posts generate none in either case, except
/// those that are needed to free the send queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum VerbsSignaling {
    /// Every post generates a completion.
    #[default]
    EveryPost,
    /// The last post of each doorbell generates a completion, as do posts that are needed to free the send queue. The
    /// completion of the last post completes the whole batch, so the measured latency of every transfer extends to the
    /// completion of the last transfer in its batch.
    EveryDoorbell,
}

impl VerbsSignaling {
    /// Name of the value in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::EveryPost => "EveryPost",
            Self::EveryDoorbell => "EveryDoorbell",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn default_rails() -> u32 {
    1
}
