//! UCX with a list of allowed transports.

use serde::{Deserialize, Serialize};

use super::rails::default_rails;
use super::ucx_transport::UcxTransport;

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
