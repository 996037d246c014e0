//! State that the rails of a transport share.

use super::rules::emulation::Conditions;
use super::rules::lanes::Lane;
use crds::v1alpha1::Ucx;
use ucx_sys::Version;

/// Lanes of the endpoints to a peer, by rail.
pub(super) type ConnectedPeer = Vec<Vec<Lane>>;

/// What the rails of a transport share.
pub struct Shared {
    pub(super) spec: Ucx,
    pub(super) version: Version,
    /// Device of each rail, as UCX names it; `None` if UCX chooses the devices.
    pub(super) devices: Vec<Option<String>>,
    pub(super) emulation_conditions: Conditions,
    /// The connected peers, by number.
    pub(super) peers: Vec<ConnectedPeer>,
}
