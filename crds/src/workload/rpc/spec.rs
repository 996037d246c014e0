//! Calls between isolated processes, with the payloads, names and defaults of the PyIsolate benchmark suite.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::Size;
use crate::v1alpha1::{Load, Metric, SpecWorkload};

/// Calls between a host and an extension, which are isolated processes. The latency of a sample is the time from the
/// call to its reply. Each arm uses the channel in `spec.variants[].channel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rpc {
    /// Payloads of the calls. Defaults to SmallInt and SmallString.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 10)))]
    pub payloads: Vec<RpcPayload>,
    /// Sequence of calls that make up a sample. Defaults to Call.
    pub pattern: RpcPattern,
    /// Number of nested calls below the first one. Must not be set unless pattern is Recursive, where it defaults to 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub depth: Option<u32>,
    /// Whether iterations and warmup default to 100 and 2 instead of 1000 and 5. Defaults to false.
    pub quick: bool,
    /// When samples start. If unset, a sample starts as soon as the previous one has completed (closed loop).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Number of measured samples. sampling.minWindow does not raise it. Defaults to 1000, or 100 if quick is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 1_000_000)))]
    pub iterations: Option<u32>,
    /// Number of warm-up samples before the measurement. Defaults to 5, or 2 if quick is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Maximum duration of a case, including its warm-up, in seconds. A process that exceeds this limit is killed, and
    /// the next case starts a new process. Defaults to 30.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub timeout_seconds: u32,
}

/// Payload of a call, with its name and shape in the benchmark suite. Array elements are 8 bytes long, and tensor
/// elements 4 bytes. The reply to SmallInt and SmallString is the payload itself. The reply to all others is the length
/// of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum RpcPayload {
    /// An 8-byte integer.
    SmallInt,
    /// A 110-byte string.
    SmallString,
    /// An array of 1,000,000 elements (8 MB).
    LargeArray,
    /// A byte string of 50,000,000 bytes.
    LargeBytes,
    /// A tensor of 10 x 10 elements (400 B).
    TinyTensor,
    /// A tensor of 100 x 100 elements (40 kB).
    SmallTensor,
    /// A tensor of 512 x 512 elements (1 MiB).
    MediumTensor,
    /// A tensor of 1024 x 1024 elements (4 MiB).
    LargeTensor,
    /// A tensor of 3 x 8192 x 8192 elements (768 MiB), the size of an 8K image.
    ImageTensor,
    /// A tensor of 40132 x 40132 elements (6.4 GB), the size of a model.
    ModelTensor,
}

/// Sequence of calls that make up a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum RpcPattern {
    /// The host calls the extension (1 hop).
    #[default]
    Call,
    /// Each process calls the other before it replies, to a depth of `depth` (`depth` + 1 hops).
    Recursive,
    /// The extension calls the host, which calls the extension, before they reply (3 hops).
    Chain,
    /// The extension calls an object that lives in the host before it replies (2 hops).
    Singleton,
}

/// Channel over which an arm makes its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum RpcChannel {
    /// Messages over the arm's transport, between the two workers of a pair.
    #[default]
    Transport,
    /// Function calls within the host process, which is the baseline without isolation.
    Local,
    /// A UNIX socket between the host and an extension that it starts.
    UnixSocket,
    /// A TCP connection over the loopback interface, between the host and an extension that it starts.
    Tcp,
    /// Like UnixSocket, but a message contains a descriptor of shared memory that holds the payload, instead of the
    /// payload itself.
    SharedMemory,
}

/// All payloads, in the order of the benchmark suite.
const PAYLOADS: [RpcPayload; 10] = [
    RpcPayload::SmallInt,
    RpcPayload::SmallString,
    RpcPayload::LargeArray,
    RpcPayload::LargeBytes,
    RpcPayload::TinyTensor,
    RpcPayload::SmallTensor,
    RpcPayload::MediumTensor,
    RpcPayload::LargeTensor,
    RpcPayload::ImageTensor,
    RpcPayload::ModelTensor,
];

impl Default for Rpc {
    fn default() -> Self {
        Self {
            payloads: vec![RpcPayload::SmallInt, RpcPayload::SmallString],
            load: None,
            pattern: RpcPattern::default(),
            depth: None,
            quick: false,
            iterations: None,
            warmup: None,
            timeout_seconds: 30,
        }
    }
}

impl Rpc {
    /// Number of calls in a sample.
    pub fn hops(&self) -> u32 {
        match self.pattern {
            RpcPattern::Call => 1,
            RpcPattern::Singleton => 2,
            RpcPattern::Chain => 3,
            RpcPattern::Recursive => self.depth.unwrap_or(3).saturating_add(1),
        }
    }

    /// Number of measured samples.
    pub fn iterations(&self) -> u32 {
        self.iterations.unwrap_or(if self.quick { 100 } else { 1000 })
    }

    /// Number of warm-up samples.
    pub fn warmup(&self) -> u32 {
        self.warmup.unwrap_or(if self.quick { 2 } else { 5 })
    }
}

impl RpcPayload {
    /// Size in bytes, which identifies the payload in results.
    pub fn size(self) -> Size {
        Size(match self {
            Self::SmallInt => 8,
            Self::SmallString => 110,
            Self::LargeArray => 8_000_000,
            Self::LargeBytes => 50_000_000,
            Self::TinyTensor => 4 * 10 * 10,
            Self::SmallTensor => 4 * 100 * 100,
            Self::MediumTensor => 4 * 512 * 512,
            Self::LargeTensor => 4 * 1024 * 1024,
            Self::ImageTensor => 4 * 3 * 8192 * 8192,
            Self::ModelTensor => 4 * 40132 * 40132,
        })
    }

    /// Returns the payload with `bytes` bytes, if there is one.
    pub fn with_size(bytes: u64) -> Option<Self> {
        PAYLOADS
            .into_iter()
            .find(|payload| payload.size().bytes() == bytes)
    }

    /// Name of the payload in the benchmark suite.
    pub fn name(self) -> &'static str {
        match self {
            Self::SmallInt => "small_int",
            Self::SmallString => "small_string",
            Self::LargeArray => "large_array",
            Self::LargeBytes => "large_bytes",
            Self::TinyTensor => "tiny_tensor",
            Self::SmallTensor => "small_tensor",
            Self::MediumTensor => "medium_tensor",
            Self::LargeTensor => "large_tensor",
            Self::ImageTensor => "image_tensor",
            Self::ModelTensor => "model_tensor",
        }
    }

    /// Whether the reply is the payload. If it is, all channels copy the payload into the message, because mapping it
    /// would cost more than copying it.
    pub fn is_echoed(self) -> bool {
        matches!(self, Self::SmallInt | Self::SmallString)
    }
}

impl RpcChannel {
    /// Whether the calls are messages over the arm's transport.
    pub fn is_transport(self) -> bool {
        self == Self::Transport
    }

    /// Channel that actually carries a payload of `bytes` bytes. Echoed payloads are never mapped, so SharedMemory uses
    /// UnixSocket for them.
    pub fn for_payload(self, bytes: u64) -> Self {
        let is_echoed = RpcPayload::with_size(bytes).is_some_and(RpcPayload::is_echoed);
        match self {
            Self::SharedMemory if is_echoed => Self::UnixSocket,
            channel => channel,
        }
    }
}

impl SpecWorkload for Rpc {
    fn sizes(&self) -> Cow<'_, [Size]> {
        self.payloads.iter().copied().map(RpcPayload::size).collect()
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::LatencyP50
    }

    fn load(&self) -> Option<Load> {
        self.load
    }

    fn sizes_field(&self) -> &'static str {
        "payloads"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_identify_payloads_and_match_the_suite() {
        for payload in PAYLOADS {
            assert_eq!(RpcPayload::with_size(payload.size().bytes()), Some(payload));
        }
        assert_eq!(RpcPayload::with_size(9), None);
        let sizes = PAYLOADS.map(|payload| payload.size().bytes());
        assert_eq!(sizes[8..], [805_306_368, 6_442_309_696]);
    }

    #[test]
    fn quick_changes_only_the_defaults() {
        let counts = |rpc: Rpc| (rpc.warmup(), rpc.iterations());
        assert_eq!(counts(Rpc::default()), (5, 1000));
        let quick = Rpc {
            quick: true,
            ..Rpc::default()
        };
        assert_eq!(counts(quick.clone()), (2, 100));
        let given = Rpc {
            iterations: Some(7),
            warmup: Some(0),
            ..quick
        };
        assert_eq!(counts(given), (0, 7));
    }

    #[test]
    fn hops_match_the_pattern() {
        let hops = |pattern, depth| {
            let rpc = Rpc {
                pattern,
                depth,
                ..Rpc::default()
            };
            rpc.hops()
        };
        assert_eq!(hops(RpcPattern::Call, None), 1);
        assert_eq!(hops(RpcPattern::Singleton, None), 2);
        assert_eq!(hops(RpcPattern::Chain, None), 3);
        assert_eq!(hops(RpcPattern::Recursive, None), 4);
        assert_eq!(hops(RpcPattern::Recursive, Some(9)), 10);
    }
}
