//! NIXL agents with one backend.

use serde::{Deserialize, Serialize};

use super::rails::default_rails;
use crate::units::Size;

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
