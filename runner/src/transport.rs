//! The one trait between the scenarios and the fabric libraries.
//!
//! A [`Transport`] is one arm's set of endpoints at one worker: one endpoint a rail, on a domain of its own, each
//! connected to the rail of the same number at every peer. Posting policy (inject, FI_MORE, striping) sits above: a
//! transport posts exactly what it is told, says when the library answers "try again", and substitutes nothing.
//!
//! Dispatch is static: scenarios are generic over `T: Transport`, and the one dynamic choice is made when an
//! instrument starts. A transport belongs to the thread that uses it (`Send`, not `Sync`). After [`Transport::open`],
//! [`Transport::register`] and [`Transport::connect`], no call allocates, locks or logs.

pub mod choice;
pub mod libfabric;
pub mod loopback;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crds::record::{FabricFacts, FailureReason};
use crds::v1alpha1::TransportSpec;
use serde::{Deserialize, Serialize};
use snafu::Snafu;

use crate::memory::Memory;

/// Number of a rail, from 0.
pub type Rail = usize;
/// Number of a connected peer, from 0, in the order of [`Transport::connect`].
pub type Peer = usize;

/// What an arm asks its library for.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenConfig {
    /// Library, provider and number of rails.
    pub spec: TransportSpec,
    /// For each rail its source address or device name; empty where the transport chooses by the hardware.
    pub rails: Vec<String>,
    /// Folder whose libraries are opened instead of the system's.
    pub library: Option<PathBuf>,
    /// Largest message the arm wants to inject: a hint for the provider. `None` for arms that inject nothing.
    pub inject_bytes: Option<u64>,
    /// Posts in flight that an endpoint must take; the provider may give more.
    pub depth: usize,
    /// Whether [`Transport::wait`] will be used. Endpoints that can sleep can also be polled.
    pub sleeps: bool,
    /// Whether any memory is a GPU's.
    pub device_memory: bool,
    /// Number of peers that will be connected.
    pub peers: usize,
}

/// What a peer needs to reach this side: the endpoint name of each rail, as the library gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointAddresses {
    /// Endpoint names, by rail; each at most [`MAX_ADDRESS_BYTES`] long.
    pub rails: Vec<Vec<u8>>,
}

/// Longest endpoint name that is taken from a peer.
pub const MAX_ADDRESS_BYTES: usize = 256;

/// What a peer needs to reach a registered region by RMA: by rail, for every rail is a domain of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteRegion {
    /// Address and key, by rail.
    pub rails: Vec<RemoteKey>,
    /// Bytes of the region.
    pub length: u64,
}

/// Address and key of a region on one rail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteKey {
    /// Base address for RMA: virtual, or 0 where the domain counts from the region's start.
    pub address: u64,
    /// Protection key.
    pub key: u64,
}

/// What is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Two-sided send with immediate data.
    Send {
        /// Immediate data; at most 32 bits are used, for not every provider carries more.
        immediate: u64,
    },
    /// RMA write without a sign at the target. Its completion says that the data is in the target's memory
    /// (delivery complete).
    Write {
        /// Where to.
        remote: RemoteKey,
        /// Offset in the remote region, in bytes.
        remote_offset: u64,
    },
    /// RMA write with immediate data, which the target sees as a completion.
    WriteImmediate {
        /// Where to.
        remote: RemoteKey,
        /// Offset in the remote region, in bytes.
        remote_offset: u64,
        /// Immediate data; at most 32 bits are used.
        immediate: u64,
    },
    /// RMA read.
    Read {
        /// Where from.
        remote: RemoteKey,
        /// Offset in the remote region, in bytes.
        remote_offset: u64,
    },
}

/// One post on one rail.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a, R> {
    /// Rail it goes out on.
    pub rail: Rail,
    /// Whom it is for.
    pub peer: Peer,
    /// What is done.
    pub operation: Operation,
    /// Local memory.
    pub region: &'a R,
    /// Offset in it, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Use the library's inject call: the memory is free on return and no completion follows. Never falls back. Only
    /// for operations with immediate data, by which the peer can tell that they have arrived.
    pub inject: bool,
    /// More posts on this rail follow at once (FI_MORE): the doorbell may wait for them. Never with `inject`, whose
    /// calls take no flags: both together are refused.
    pub more: bool,
    /// Comes back in the completion; below [`OpenConfig::depth`], and not in use by another post of this rail. An
    /// injected post has none, for nothing comes back. Receives have tokens of their own, under the same rules.
    pub token: u32,
}

/// Why a post was not taken. `Copy`, without text: it is met in the timed region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The queue is full (EAGAIN): poll and post again.
    Again,
    /// The library does not do this call with these arguments (ENOSYS, EOPNOTSUPP, EINVAL, EMSGSIZE); the errno.
    Refused(i32),
    /// The endpoint is broken; the errno.
    Failed(i32),
}

/// What a completion is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// An own send, write or read; its token.
    Posted {
        /// Token of the post.
        token: u32,
    },
    /// A message arrived in a posted receive.
    Received {
        /// Token of the receive.
        token: u32,
        /// Immediate data, where the message carried it.
        immediate: Option<u64>,
        /// Length in bytes.
        length: u64,
    },
    /// A peer's RMA write with immediate data arrived.
    RemoteWrite {
        /// Immediate data.
        immediate: u64,
    },
}

/// One completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Rail it came in on.
    pub rail: Rail,
    /// What it is of.
    pub kind: CompletionKind,
}

/// Why a transport cannot be opened or used. Carries every name and code a user needs.
#[derive(Clone, Debug, Snafu, PartialEq, Eq)]
#[snafu(display("{operation}: {message}"))]
pub struct TransportError {
    /// What kind of failure; decides what the campaign does with it.
    pub reason: FailureReason,
    /// Call or step that failed, such as `fi_getinfo`.
    pub operation: &'static str,
    /// Library's text and code, what was asked for, and what to do.
    pub message: String,
}

/// Memory that is registered on every rail of a transport. Keeps the memory and the domains alive.
pub trait Region: Send {
    /// What a peer needs to reach it.
    fn remote(&self) -> RemoteRegion;
    /// The memory itself.
    fn memory(&self) -> &Arc<Memory>;
    /// How it was registered, for the records: `fi_mr_reg`, `none needed`.
    fn registration(&self) -> &'static str;
}

/// One arm's endpoints at one worker.
pub trait Transport: Sized + Send {
    /// Memory registered with it.
    type Region: Region;

    /// Opens library, fabric, domains and one endpoint a rail.
    ///
    /// # Errors
    /// `NotCompiled`, `LibraryNotFound`, `NoDevice`, `ProviderMismatch` or `Refused`: never another transport instead.
    fn open(config: &OpenConfig) -> Result<Self, TransportError>;

    /// What the library returned: never what was asked for.
    fn facts(&self) -> &FabricFacts;

    /// Number of rails.
    fn rails(&self) -> usize;

    /// What peers need to reach this side.
    fn addresses(&self) -> &EndpointAddresses;

    /// Makes a peer known, rail to rail of the same number. Peers are numbered in the order of these calls.
    ///
    /// # Errors
    /// When the number of rails differs or the library refuses an address.
    fn connect(&mut self, peer: &EndpointAddresses) -> Result<Peer, TransportError>;

    /// Registers memory on every rail, for all operations, local and remote.
    ///
    /// # Errors
    /// When the library refuses the memory, with what to do (locked-memory limit, huge pages).
    fn register(&mut self, memory: Arc<Memory>) -> Result<Self::Region, TransportError>;

    /// Posts one operation.
    ///
    /// # Errors
    /// See [`PostError`]; after `Again` the same post may be made again.
    fn post(&mut self, post: &Post<'_, Self::Region>) -> Result<(), PostError>;

    /// Posts a receive for one message of any peer on `rail`.
    ///
    /// # Errors
    /// See [`PostError`].
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &Self::Region,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError>;

    /// Collects completions of all rails, as many as fit into `completions`, and makes progress. Returns how many.
    ///
    /// # Errors
    /// `CompletionFailed` or `PeerLost` with the library's text when a completion reports an error.
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError>;

    /// Sleeps until a completion may be there, at most `timeout`. Only where it was opened for that.
    ///
    /// # Errors
    /// `Refused` when the library cannot wait.
    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError>;
}
