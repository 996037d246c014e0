//! Variants, which differ in their tuning, environment, transport, channel, library, image, device claims, or a
//! combination of these.

use serde::{Deserialize, Serialize};

use super::{Claims, RpcChannel, TransportSpec};
use crate::striping::StripingPolicy;
use crate::units::Size;

/// Configuration to measure: the baseline or a configuration to compare with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!self.name.startsWith('control')").message("name must not start with control, which is the prefix of control arms").field_path(".name"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Variant {
    /// Name of the variant in results. Must be a DNS label and must not start with `control`.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 40), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Use of inject calls (FI_INJECT) for small messages. If unset, inject calls are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
    /// Doorbell batching (FI_MORE): one doorbell for several posts. If unset, FI_MORE is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbell: Option<Doorbell>,
    /// Striping of transfers over rails. Defaults to spec.striping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub striping: Option<Striping>,
    /// Environment variables of the process that performs the measurement. A variant with environment variables is
    /// measured in a separate process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["name".into()])))]
    pub env: Vec<EnvVar>,
    /// Library that transfers the data of this variant. Defaults to spec.transport, and must have the same number of
    /// rails. A variant with a different transport is measured in a separate process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportSpec>,
    /// Channel for the calls in rpc scenarios and for the tensors in memoryFootprint scenarios. Defaults to Transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<RpcChannel>,
    /// Arguments that replace the argument `{arguments}` of the server and the client in command scenarios. They may
    /// contain the placeholders `{server}`, `{port}`, `{size}` and `{device}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64), inner(length(max = 1000))))]
    pub arguments: Vec<String>,
    /// Absolute path of the directory from which the library of the transport is loaded. The directory must contain
    /// this library; no other location is tried. Other libraries that it depends on are also loaded from this directory
    /// if they are in it, and otherwise from where the dynamic loader finds them. If libraryImage is unset, the
    /// directory is in the worker image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 500), regex(pattern = r"^/[^\x00-\x1f\x7f]*$"))
    )]
    pub library: Option<String>,
    /// Image that contains the `library` directory, which is copied into the worker pods when they start. Variants with
    /// libraries from different images can therefore share pods and are measured in the same blocks. Requires a
    /// cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 500), regex(pattern = r"^[A-Za-z0-9._:/@\[\]-]+$"))
    )]
    pub library_image: Option<String>,
    /// Image of the worker pods of this variant. Defaults to spec.image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 500), regex(pattern = r"^[A-Za-z0-9._:/@\[\]-]+$"))
    )]
    pub image: Option<String>,
    /// Devices that the workers of this variant claim, in separate pods. Defaults to spec.resources.claims. Requires a
    /// cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
}

/// Use of inject calls. When an inject call returns, the buffer can be reused; no completion is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inject {
    /// Size of the largest message that is injected. Messages larger than the provider's inject limit are not injected
    /// either.
    pub max_bytes: Size,
}

/// Doorbell batching. On each endpoint, all posts of a batch except the last set FI_MORE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Doorbell {
    /// Maximum number of posts per doorbell on an endpoint. Must be between 2 and 256.
    #[cfg_attr(feature = "crd", schemars(range(min = 2, max = 256)))]
    pub max_batch: u32,
}

/// Striping of transfers over rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Striping {
    /// Striping policy.
    pub policy: StripingPolicy,
    /// Smallest transfer that is striped. Defaults to the value in spec.striping or, if that is unset, to 128Ki, NIXL's
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_bytes: Option<Size>,
    /// Minimum chunk size for the NixlCoalesce policy. Defaults to the value in spec.striping or, if that is unset, to
    /// 16Ki.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_chunk_bytes: Option<Size>,
}

/// Environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvVar {
    /// Name of the environment variable.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 100), regex(pattern = "^[A-Z][A-Z0-9_]*$"))
    )]
    pub name: String,
    /// Value of the environment variable.
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 1000), regex(pattern = r"^[^\x00-\x1f\x7f]*$"))
    )]
    pub value: String,
}
