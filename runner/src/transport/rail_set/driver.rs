//! What a library must provide for one rail.

use std::ffi::c_int;
use std::sync::Arc;

use crds::record::{FabricFacts, ProtocolUse};
use crds::v1alpha1::TransferOperation;

use super::RegisteredMemory;
use crate::memory::Memory;
use crate::transport::{
    CallNames, CompletionKind, EndpointAddresses, OpenConfig, PackedKey, Peer, Post, PostError,
    PreparationStats, Rail, RemoteKey, TransportError,
};

/// One rail of a library: an endpoint with its own domain. [`super::RailSet`] is the transport with all rails of an
/// arm. It checks the numbers of rails, and adds the rail to the errors that the methods of a rail return.
pub trait RailDriver: Sized + Send {
    /// What all rails of a transport share, such as the spec.
    type Shared: Send;
    /// Memory that is registered on one rail.
    type Region: Send;

    /// Call that connects a rail to a peer, as errors name it.
    const CONNECT: &'static str;
    /// What only some libraries can do.
    const ABILITIES: Abilities<Self>;

    /// Loads the library and initializes its providers. See [`crate::transport::Transport::load`].
    ///
    /// # Errors
    /// Returns the same errors as [`Self::open`].
    fn load(config: &OpenConfig) -> Result<(), TransportError>;

    /// Opens all rails, and collects facts about them.
    ///
    /// # Errors
    /// See [`crate::transport::Transport::open`]. The errors contain the rail.
    fn open(config: &OpenConfig) -> Result<OpenedRails<Self>, TransportError>;

    /// Connects the rail to the peer's rail with the same index, which has the endpoint name `name`. Adds what becomes
    /// known about the rail to `facts`. Returns the number of peers that were connected before.
    ///
    /// # Errors
    /// Returns `OperationRejected`, `FabricUnreachable`, `ProviderMismatch` or `InvalidAssignment`.
    fn connect(
        &mut self,
        shared: &mut Self::Shared,
        rail: Rail,
        name: &[u8],
        facts: &mut FabricFacts,
    ) -> Result<Peer, TransportError>;

    /// Registers memory for all local and remote operations.
    ///
    /// # Errors
    /// Returns `OperationRejected`, with the most common cause if the library rejects the memory.
    fn register(
        &mut self,
        shared: &Self::Shared,
        memory: &Arc<Memory>,
    ) -> Result<Self::Region, TransportError>;

    /// Name of the call that registers this memory.
    fn registration_method(memory: &Memory) -> &'static str;

    /// Address and packed key that a peer uses to access the region.
    fn key(region: &Self::Region) -> PackedKey;

    /// Imports a peer's key of a region of `length` bytes.
    ///
    /// # Errors
    /// Returns `InvalidAssignment` or `OperationRejected` if the key is not in the library's format.
    fn import(
        &mut self,
        shared: &Self::Shared,
        peer: Peer,
        key: &PackedKey,
        length: u64,
    ) -> Result<RemoteKey, TransportError>;

    /// Posts one operation. `region` is this rail's part of the post's region.
    ///
    /// # Errors
    /// Returns a [`PostError`].
    fn post(
        &mut self,
        shared: &Self::Shared,
        region: &Self::Region,
        post: &Post<'_, RegisteredMemory<Self>>,
    ) -> Result<(), PostError>;

    /// Posts a receive for one message from any peer.
    ///
    /// # Errors
    /// Returns a [`PostError`].
    fn receive(
        &mut self,
        shared: &Self::Shared,
        region: &Self::Region,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError>;

    /// Drives progress, and reports at most `room` completions.
    ///
    /// # Errors
    /// Returns `CompletionFailed` or `PeerLost` if a completion reports an error.
    fn poll(&mut self, room: usize, report: impl FnMut(CompletionKind)) -> Result<(), TransportError>;

    /// Prepares the rail for a sleep until its next completion.
    ///
    /// # Errors
    /// Returns `OperationRejected` if the library cannot wait, or the rail was not opened for waiting.
    fn arm(&mut self) -> Result<Armed, TransportError>;
}

/// Whether the thread may sleep until a rail's next completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Armed {
    /// The rail may already have a completion.
    Ready,
    /// The descriptor becomes readable at the rail's next completion.
    Sleep(c_int),
}

/// The opened rails of a transport.
pub struct OpenedRails<D: RailDriver> {
    /// The rails, by index.
    pub rails: Vec<D>,
    /// What they share.
    pub shared: D::Shared,
    /// Endpoint names, by rail.
    pub addresses: EndpointAddresses,
    /// Properties that the library reports.
    pub facts: FabricFacts,
}

/// What only some libraries can do. [`Transport`](crate::transport::Transport) states what happens otherwise.
pub struct Abilities<D: RailDriver> {
    /// Whether posts may set [`Post::more`].
    pub more: bool,
    /// Names of the library's calls in evidence lines.
    pub call_names: CallNames,
    /// Allocates registered memory.
    pub allocate: Option<Allocate<D>>,
    /// Checks that the endpoints to a peer perform an operation as the spec requires.
    pub check_operation: Option<CheckOperation<D>>,
    /// Prepares requests for repeated posts.
    pub prepare: Option<Prepare<D>>,
    /// Completes when earlier operations have completed at the peer.
    pub flush: Option<Flush<D>>,
    /// Closes the rails, and returns the protocols or calls that they used.
    pub close_and_count: Option<CloseAndCount<D>>,
}

impl<D: RailDriver> Abilities<D> {
    /// None of them.
    pub const NONE: Self = Self {
        more: false,
        call_names: CallNames::Libfabric,
        allocate: None,
        check_operation: None,
        prepare: None,
        flush: None,
        close_and_count: None,
    };
}

/// Allocates and registers memory, if the spec makes the library allocate it.
pub struct Allocate<D: RailDriver> {
    /// Name of the library's call, as errors name it.
    pub call: &'static str,
    /// Name under which the registration method is recorded.
    pub method: &'static str,
    /// The call on the only rail.
    pub allocate: AllocateOnRail<D>,
}

/// Allocates this number of bytes, zeroed, and registers them on one rail.
pub type AllocateOnRail<D> =
    fn(&mut D, usize) -> Result<(Arc<Memory>, <D as RailDriver>::Region), TransportError>;

/// Checks that the endpoints to a peer perform an operation as the spec requires.
pub type CheckOperation<D> =
    fn(&<D as RailDriver>::Shared, Peer, TransferOperation) -> Result<(), TransportError>;

/// Closes the rails, and returns the protocols or calls that they used.
pub type CloseAndCount<D> = fn(Vec<D>, &<D as RailDriver>::Shared, &FabricFacts) -> Vec<ProtocolUse>;

/// Prepares requests for a post with this region of the rail, for this number of posts in flight.
pub type PrepareRequests<D> = fn(
    &mut D,
    &<D as RailDriver>::Shared,
    &<D as RailDriver>::Region,
    &Post<'_, RegisteredMemory<D>>,
    u32,
) -> Result<(), TransportError>;

/// Preparation of requests for repeated posts.
pub struct Prepare<D: RailDriver> {
    /// The call on one rail.
    pub prepare: PrepareRequests<D>,
    /// Number of requests prepared since the rail was opened, and the time it took.
    pub stats: fn(&D) -> PreparationStats,
}

/// Flushes, which complete when earlier operations have completed at the peer.
pub struct Flush<D> {
    /// Whether another flush can be posted now.
    pub has_room: fn(&D) -> bool,
    /// Posts a flush to a peer.
    pub post: fn(&mut D, Peer) -> Result<(), PostError>,
    /// Number of flushes that have not completed.
    pub in_flight: fn(&D) -> u32,
}
