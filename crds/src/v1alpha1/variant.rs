//! What is compared: a tuning, an environment or library, an image, or several of them.

use serde::{Deserialize, Serialize};

use crate::striping::StripingPolicy;
use crate::units::Size;

/// One thing to compare.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!self.name.startsWith('control')").message("name must not start with control: the planner's control arms are called so").field_path(".name"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Variant {
    /// Name in results; a DNS label.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 40), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Send small messages by the library's inject calls (FI_INJECT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
    /// Ring the doorbell once for several posts (FI_MORE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbell: Option<Doorbell>,
    /// Spread transfers over rails by another rule than the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub striping: Option<Striping>,
    /// Environment variables of the measuring process. They make it a process of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["name".into()])))]
    pub env: Vec<EnvVar>,
    /// Folder whose libraries are opened instead of the image's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500), regex(pattern = "^/")))]
    pub library: Option<String>,
    /// Image of this variant's pods instead of the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500)))]
    pub image: Option<String>,
}

/// Use of the library's inject calls: the buffer is free on return and no completion follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inject {
    /// Largest message injected. The provider's own limit also holds.
    pub max_bytes: Size,
}

/// Doorbell batching: all posts of a burst on an endpoint but the last carry FI_MORE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Doorbell {
    /// Most posts for one doorbell on one endpoint.
    #[cfg_attr(feature = "crd", schemars(range(min = 2, max = 256)))]
    pub max_batch: u32,
}

/// How a transfer is spread over rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Striping {
    /// The rule.
    pub policy: StripingPolicy,
    /// Smallest transfer that is striped; the run's value, then 128Ki (NIXL's own), where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_bytes: Option<Size>,
    /// Smallest chunk of `NixlCoalesce`; the run's value, then 16Ki, where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_chunk_bytes: Option<Size>,
}

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvVar {
    /// Its name.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 100), regex(pattern = "^[A-Z][A-Z0-9_]*$"))
    )]
    pub name: String,
    /// Its value.
    #[cfg_attr(feature = "crd", schemars(length(max = 1000)))]
    pub value: String,
}
