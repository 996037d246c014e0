//! The interface between the scenarios and the fabric libraries.
//!
//! A [`Transport`] is the set of endpoints of one arm on one worker: one endpoint per rail, with its own domain,
//! connected to the rail with the same index on every peer. The posting policy (inject, FI_MORE, striping) is
//! implemented above this trait: a transport posts exactly what the caller requests, returns the library's EAGAIN to
//! the caller, and never substitutes a different operation.
//!
//! Dispatch is static: scenarios are generic over `T: Transport`, and the type is selected once per arm, when the arm
//! is opened. A transport belongs to the thread that uses it (`Send`, not `Sync`). After [`Transport::open`],
//! [`Transport::register`], [`Transport::connect`] and [`Transport::import`], no call allocates, locks or logs.

#[cfg(any(test, feature = "test-pair"))]
pub mod conformance;
pub mod descriptors;
pub mod environment;
pub mod failures;
#[cfg(test)]
mod ignored_tests;
pub mod libfabric;
pub mod loopback;
pub mod nixl;
pub mod rail_set;
#[cfg(any(test, feature = "test-pair"))]
pub mod test_pair;
pub mod try_to_open;
pub mod ucx;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crds::record::{FabricFacts, FailureReason, ProtocolUse};
use crds::v1alpha1::{TransferOperation, TransportSpec};
use serde::{Deserialize, Serialize};
use snafu::Snafu;

use crate::memory::{Memory, MemoryError};
use crate::topology::Location;

/// Rail index.
pub type Rail = usize;
/// Index of a connected peer, in the order in which [`Transport::connect`] was called.
pub type Peer = usize;

/// Configuration of an arm's endpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenConfig {
    /// Library, provider and number of rails.
    pub spec: TransportSpec,
    /// Source address or device name for each rail. If empty, the transport selects them from the available hardware.
    pub rails: Vec<String>,
    /// Directory that contains the libraries to open; `None` for the system libraries.
    pub library: Option<PathBuf>,
    /// Size in bytes of the largest message that the arm injects, as a hint for the provider.
    ///
    /// `None` for arms that do not inject.
    pub inject_bytes: Option<u64>,
    /// Number of posts in flight that an endpoint must support; the provider may support more.
    pub depth: usize,
    /// Whether [`Transport::wait`] will be called. Endpoints opened for waiting can also be polled.
    pub uses_wait: bool,
    /// Whether the arm registers GPU memory.
    pub device_memory: bool,
    /// Location of the memory that the rails should be close to; `None` if unknown.
    pub location: Option<Location>,
    /// Rank of this worker.
    pub rank: u32,
    /// Number of peers that will be connected.
    pub peers: usize,
    /// Whether the library should count the protocols it uses, if it can. Counting slows down posts.
    pub counts_protocols: bool,
}

impl OpenConfig {
    /// Configuration for polling, with one peer, `depth` posts in flight, and the system libraries and devices that the
    /// transport selects.
    pub fn polled(spec: TransportSpec, depth: usize) -> Self {
        Self {
            spec,
            rails: Vec::new(),
            library: None,
            inject_bytes: None,
            depth,
            uses_wait: false,
            device_memory: false,
            location: None,
            rank: 0,
            peers: 1,
            counts_protocols: false,
        }
    }
}

/// Addresses that a peer uses to connect to this side: the endpoint name of each rail, as packed by the transport.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointAddresses {
    /// Endpoint names, by rail, each at most [`MAX_ADDRESS_BYTES`] bytes long.
    pub rails: Vec<Vec<u8>>,
}

/// Maximum length of a peer's endpoint name, in bytes. A UCX worker's name lists every device that the worker may use.
pub const MAX_ADDRESS_BYTES: usize = 2048;

/// Maximum length of a packed key, in bytes. A UCX region's key has an entry for each memory domain.
pub const MAX_KEY_BYTES: usize = 1024;

/// Addresses and keys that a peer needs to access a registered region by RMA, one of each per rail, because every rail
/// has its own domain. A peer imports the region ([`Transport::import`]) before it posts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteRegion {
    /// Address and packed key, by rail.
    pub rails: Vec<PackedKey>,
    /// Region length in bytes.
    pub length: u64,
}

/// Address and packed key of a region on one rail, as sent to peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackedKey {
    /// Base address for RMA: the virtual address, or 0 if the domain uses offsets from the start of the region.
    pub address: u64,
    /// Protection key in the library's format, at most [`MAX_KEY_BYTES`] bytes long.
    pub key: Vec<u8>,
}

/// Address and key of a peer's region on one rail, ready for posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteKey {
    /// Base address for RMA: the virtual address, or 0 if the domain uses offsets from the start of the region.
    pub address: u64,
    /// Protection key, or the handle of an imported key if the library's keys are not integers.
    pub key: u64,
}

impl From<RemoteKey> for PackedKey {
    /// Packs a key for a library whose keys are integers.
    fn from(key: RemoteKey) -> Self {
        Self {
            address: key.address,
            key: key.key.to_le_bytes().to_vec(),
        }
    }
}

impl TryFrom<&PackedKey> for RemoteKey {
    type Error = TransportError;

    /// Unpacks a key for a library whose keys are integers.
    fn try_from(packed: &PackedKey) -> Result<Self, TransportError> {
        let key = <[u8; 8]>::try_from(packed.key.as_slice()).map_err(|_| TransportError {
            reason: FailureReason::InvalidAssignment,
            operation: "import",
            message: format!(
                "the peer's memory key has {} bytes, but this transport's keys have 8; use the same runner version \
                 for all workers",
                packed.key.len()
            ),
        })?;
        Ok(Self {
            address: packed.address,
            key: u64::from_le_bytes(key),
        })
    }
}

/// Operation that a post performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Two-sided send with immediate data.
    Send {
        /// Immediate data; only the low 32 bits are used, because not every provider supports more.
        immediate: u64,
    },
    /// RMA write without a completion at the target.
    ///
    /// Its local completion means that the data is in the target's memory (delivery complete), except over verbs, where
    /// it means only that the target's NIC has acknowledged the data.
    Write {
        /// Remote region to write.
        remote: RemoteKey,
        /// Offset in the remote region, in bytes.
        remote_offset: u64,
    },
    /// RMA write with immediate data, which the target receives as a completion.
    WriteImmediate {
        /// Remote region to write.
        remote: RemoteKey,
        /// Offset in the remote region, in bytes.
        remote_offset: u64,
        /// Immediate data; only the low 32 bits are used.
        immediate: u64,
    },
    /// RMA read.
    Read {
        /// Remote region to read.
        remote: RemoteKey,
        /// Offset in the remote region, in bytes.
        remote_offset: u64,
    },
}

/// One post on one rail.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a, R> {
    /// Rail to post on.
    pub rail: Rail,
    /// Remote peer of the operation.
    pub peer: Peer,
    /// Operation to post.
    pub operation: Operation,
    /// Local memory.
    pub region: &'a R,
    /// Offset in the local memory, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Whether to use the library's inject call. The memory can be reused as soon as the call returns, and no
    /// completion follows.
    ///
    /// There is no fallback to an ordinary post. Only operations with immediate data may be injected, because only
    /// their arrival generates a completion at the peer.
    pub inject: bool,
    /// Whether more posts on this rail follow immediately (FI_MORE), so that the library may defer the doorbell.
    ///
    /// The libfabric transport rejects posts that set both `more` and `inject`, because libfabric's inject calls take
    /// no flags.
    pub more: bool,
    /// Token that identifies the post in its completion.
    ///
    /// Must be less than [`OpenConfig::depth`] and not in use by another post on this rail. An injected post has no
    /// completion and therefore uses no token. Receives have a separate token space with the same rules.
    pub token: u32,
}

/// Error for a post that was not accepted. It contains no message and is `Copy`, because posts are issued in the timed
/// region, where nothing may allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The queue is full (EAGAIN): poll and post again.
    Again,
    /// The library does not support this call with these arguments (ENOSYS, EOPNOTSUPP, EINVAL, EMSGSIZE).
    ///
    /// Contains the errno.
    Refused(i32),
    /// The endpoint is broken. Contains the errno.
    Failed(i32),
}

/// Returns the failure reason for a post that failed with `errno`.
pub fn failed_post_reason(errno: i32) -> FailureReason {
    match errno {
        libc::ECONNRESET | libc::ENOTCONN | libc::ETIMEDOUT | libc::EHOSTUNREACH => FailureReason::PeerLost,
        _ => FailureReason::PostFailed,
    }
}

/// Kind of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A local send, write or read completed.
    Posted {
        /// Token of the post.
        token: u32,
    },
    /// A message was delivered to a posted receive.
    Received {
        /// Token of the receive.
        token: u32,
        /// Immediate data, if the message has any.
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

/// Completion of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Rail of the operation.
    pub rail: Rail,
    /// Kind of completion, with the token or immediate data.
    pub kind: CompletionKind,
}

/// Error from opening or using a transport, with the names and codes that a user needs to find the cause.
#[derive(Clone, Debug, Snafu, PartialEq, Eq)]
#[snafu(display("{operation}: {message}"))]
pub struct TransportError {
    /// Reason for the failure, which determines how the campaign handles it.
    pub reason: FailureReason,
    /// Failed call or step, such as `fi_getinfo`.
    pub operation: &'static str,
    /// The library's error description and code, the requested values, and a suggested fix.
    pub message: String,
}

impl From<MemoryError> for TransportError {
    fn from(error: MemoryError) -> Self {
        Self {
            reason: error.reason(),
            operation: "allocate",
            message: error.to_string(),
        }
    }
}

/// Number of prepared requests, and the time it took to prepare them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreparationStats {
    /// Number of requests.
    pub requests: u64,
    /// Time in nanoseconds.
    pub nanos: u64,
}

impl PreparationStats {
    /// Returns the sum of both statistics.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            nanos: self.nanos + other.nanos,
        }
    }
}

/// Memory that is registered on every rail of a transport. While the region exists, the memory stays allocated and the
/// domains stay open.
pub trait Region: Send {
    /// Addresses and keys that a peer uses to access the region.
    fn remote(&self) -> RemoteRegion;
    /// Registered memory.
    fn memory(&self) -> &Arc<Memory>;
    /// Name under which the registration method is recorded, such as `fi_mr_reg` or `none needed`.
    fn registration_method(&self) -> &'static str;
}

/// Names of the library's calls in evidence lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNames {
    /// libfabric calls, named as the test procedures specify.
    Libfabric,
    /// ibverbs calls and flags.
    Verbs,
}

/// What a transport can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether posts may set [`Post::more`]. If not, an arm that batches doorbells posts like the baseline, and the plan
    /// reports that the optimization is not applicable.
    pub more: bool,
    /// Names of the library's calls in evidence lines.
    pub call_names: CallNames,
    /// Whether [`Transport::post_flush`] may be called.
    pub flush: bool,
    /// Whether the completion of a write means only that its source memory can be reused. A flush that follows the write
    /// completes when the data is in the target's memory.
    pub completes_writes_locally: bool,
}

impl Capabilities {
    /// Capabilities of a transport without a library: batches of doorbells, but no flushes.
    pub const BUILT_IN: Self = Self {
        more: true,
        call_names: CallNames::Libfabric,
        flush: false,
        completes_writes_locally: false,
    };
}

/// Endpoints of one arm on one worker.
pub trait Transport: Sized + Send {
    /// Memory that is registered with this transport.
    type Region: Region;

    /// Loads the library and initializes its providers, so that the time to open an arm does not include these steps.
    ///
    /// Does nothing for a transport without a library.
    ///
    /// # Errors
    /// Returns the same errors as [`Transport::open`]. Callers may ignore them, because `open` reports them again.
    fn load(config: &OpenConfig) -> Result<(), TransportError>;

    /// Opens the library, the fabric, the domains and one endpoint per rail.
    ///
    /// # Errors
    /// Returns `TransportNotCompiled`, `LibraryNotFound`, `NoDevice`, `ProviderMismatch`, `MemoryUnavailable`,
    /// `NotEnoughMemory` or `OperationRejected`. Never falls back to another transport.
    fn open(config: &OpenConfig) -> Result<Self, TransportError>;

    /// What this transport can do, which does not change while it is open.
    fn capabilities(&self) -> Capabilities;

    /// Properties that the library reports, which can differ from those requested.
    fn facts(&self) -> &FabricFacts;

    /// Number of rails.
    fn rails(&self) -> usize;

    /// Addresses that peers use to connect to this side.
    fn addresses(&self) -> &EndpointAddresses;

    /// Connects each rail to the rail with the same index on a peer.
    ///
    /// Peers are numbered in the order of these calls.
    ///
    /// # Errors
    /// Returns `OperationRejected` or `FabricUnreachable` if the number of rails differs, the library rejects an
    /// address, or the peer cannot be reached.
    fn connect(&mut self, peer: &EndpointAddresses) -> Result<Peer, TransportError>;

    /// Imports the keys of a connected peer's region, one per rail. They stay valid until the transport is closed.
    ///
    /// # Errors
    /// Returns `InvalidAssignment` or `OperationRejected` if a key is not in the library's format.
    fn import(&mut self, peer: Peer, region: &RemoteRegion) -> Result<Vec<RemoteKey>, TransportError>;

    /// Checks that the endpoint to `peer` performs `operation` as the spec requires. Called after the peer is connected
    /// and before a case starts posting.
    ///
    /// # Errors
    /// Returns `OperationRejected` if the library would substitute an operation that the spec does not allow.
    fn check_operation(&self, peer: Peer, operation: TransferOperation) -> Result<(), TransportError>;

    /// Registers memory on every rail, for all local and remote operations.
    ///
    /// # Errors
    /// Returns `OperationRejected` or `Internal`, with a suggested fix (locked-memory limit, huge pages), if the
    /// library rejects the memory.
    fn register(&mut self, memory: Arc<Memory>) -> Result<Self::Region, TransportError>;

    /// Allocates `bytes` bytes of zeroed host memory, touches its pages from the calling thread, and registers it on
    /// every rail. The library allocates the memory if the spec requires it ([`TransportSpec::allocates_memory`]).
    ///
    /// # Errors
    /// Returns `MemoryUnavailable` or `NotEnoughMemory` if the memory cannot be allocated, or an error from
    /// [`Transport::register`].
    fn allocate(&mut self, bytes: usize) -> Result<Self::Region, TransportError>;

    /// Posts one operation.
    ///
    /// # Errors
    /// Returns a [`PostError`]. After `Again`, the same post may be retried.
    fn post(&mut self, post: &Post<'_, Self::Region>) -> Result<(), PostError>;

    /// Prepares the requests that the library needs to post `post` repeatedly, with up to `at_once` posts in flight, so
    /// that the posts do not include the preparation time. Unprepared posts work too. Called before a case starts
    /// posting; `post.token` is ignored. Does nothing if the library does not prepare requests.
    ///
    /// # Errors
    /// Returns `OperationRejected` if the library rejects the request, or `ProviderMismatch` if it would use a
    /// different provider than requested.
    fn prepare(&mut self, post: &Post<'_, Self::Region>, at_once: u32) -> Result<(), TransportError>;

    /// Number of requests prepared since the transport was opened, and the time it took to prepare them; `None` if the
    /// library does not prepare requests.
    fn preparation_stats(&self) -> Option<PreparationStats>;

    /// Posts a receive on `rail` for one message from any peer.
    ///
    /// # Errors
    /// Returns a [`PostError`].
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &Self::Region,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError>;

    /// Posts a flush to `peer` on every rail. A flush completes when all earlier operations of the rail's endpoint have
    /// completed at the peer. Requires [`Capabilities::flush`].
    ///
    /// # Errors
    /// Returns a [`PostError`].
    fn post_flush(&mut self, peer: Peer) -> Result<(), PostError>;

    /// Number of flushes posted by [`Transport::post_flush`] that have not completed yet. If a flush fails, the poll
    /// that completes it fails.
    fn flushes_in_flight(&self) -> u32;

    /// Drives progress, writes completions from all rails to `completions` until the buffer is full or no completions
    /// are left, and returns the number written.
    ///
    /// # Errors
    /// Returns `CompletionFailed` or `PeerLost`, with the library's description, if a completion reports an error.
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError>;

    /// Sleeps until a completion may be available, but no longer than `timeout`. Requires [`OpenConfig::uses_wait`].
    ///
    /// # Errors
    /// Returns `OperationRejected` if the library cannot wait, or if the transport was opened without
    /// [`OpenConfig::uses_wait`].
    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError>;

    /// Closes the endpoints. Returns the protocols that the library used if it counts them
    /// ([`OpenConfig::counts_protocols`]). All regions must be dropped before this call.
    fn close(self) -> Vec<ProtocolUse>;
}
