//! ibverbs with reliable connections.

use serde::{Deserialize, Serialize};

use super::rails::default_rails;

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
