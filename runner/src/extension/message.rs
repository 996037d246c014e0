//! Messages between a host and its extension. Performs no I/O.

use crds::record::{CaseFailure, IntegrityReport};
use serde::{Deserialize, Serialize};

use super::pages::MappedPages;

/// Content of a sample. Both sides have the same plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallPlan {
    /// Number of calls, each nested in the previous one.
    pub hops: u32,
    /// Length of the payload in bytes.
    pub bytes: u64,
    /// How a request passes the payload.
    pub passing: PayloadPassing,
    /// CUDA device number of the GPU that holds the payload in both processes; `None` if it is in host memory. A copy
    /// passes through host memory, and the message that shares the payload contains a CUDA IPC handle.
    pub gpu: Option<u32>,
    /// Whether a reply also contains the payload.
    pub echo: bool,
}

/// How a request passes its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PayloadPassing {
    /// The message contains the bytes of the payload.
    Copy,
    /// A descriptor of shared memory accompanies the message, and the receiver maps this memory.
    Map,
}

/// Header of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Message {
    /// First message to an extension over TCP: the host's port, and a token that the extension sends back.
    Connect { port: u16, token: String },
    /// First message from an extension over its TCP connection.
    Hello { token: String },
    /// Sets the plan of the calls that follow. The reply is [`Message::Ready`].
    Plan(CallPlan),
    /// The extension has the memory for the plan.
    Ready,
    /// Call number `hop` of a sample, starting at 1, with its payload.
    Request { hop: u32 },
    /// Reply to call number `hop`, with the length of its payload.
    Reply { hop: u32, bytes: u64 },
    /// The payload of the calls that follow is checked: it has the pattern of transfer `transfer`.
    Check { seed: u64, transfer: u64 },
    /// Requests the result of the checks. The reply is [`Message::Checked`].
    Report,
    /// Result of the checks so far.
    Checked(Box<IntegrityReport>),
    /// Requests that the extension map the shared memory, touch every page and report its pages. The reply is
    /// [`Message::Pages`].
    Map,
    /// Pages of the mapping while both sides have mapped the memory.
    Pages(MappedPages),
    /// Requests that the extension retain the payload. The reply is [`Message::Ready`].
    Hold,
    /// Requests that the extension drop the payloads that it retains. The reply is [`Message::Ready`].
    Release,
    /// Requests the pages of the payloads that the extension retains. The reply is [`Message::Pages`].
    HeldPages,
    /// Requests the extension's CPU time. The reply is [`Message::Used`].
    Usage,
    /// The extension's user and system CPU time so far, in nanoseconds.
    Used { cpu_nanos: u64 },
    /// The extension cannot do what was requested.
    Failed(CaseFailure),
}
