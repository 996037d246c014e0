//! Addresses and memory keys that an arm sends to a peer over the rendezvous connection, so that the peer can reach it.

use crds::v1alpha1::MemoryKind;
use serde::{Deserialize, Serialize};

use crate::transport::{EndpointAddresses, RemoteRegion};

/// Addresses of an arm's endpoints and memory on one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArmOffer {
    /// Address at which other workers reach this one, such as the rendezvous address.
    #[serde(default)]
    pub host: String,
    /// One offer per thread.
    pub threads: Vec<ThreadOffer>,
}

/// Addresses of the endpoints and memory of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadOffer {
    /// Endpoint addresses, by rail.
    pub addresses: EndpointAddresses,
    /// Registered memory.
    pub regions: Vec<RegionOffer>,
}

/// Remote access to the memory of one layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegionOffer {
    /// Memory kind.
    pub kind: MemoryKind,
    /// Index of the memory's layout, which is the same on both sides.
    pub layout: usize,
    /// Address and key, by rail.
    pub region: RemoteRegion,
}
