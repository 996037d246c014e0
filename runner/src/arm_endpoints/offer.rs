//! What one side of an arm tells a peer so that it can be reached. Travels over the rendezvous.

use crds::v1alpha1::MemoryKind;
use serde::{Deserialize, Serialize};

use crate::transport::{EndpointAddresses, RemoteRegion};

/// How to reach an arm's endpoints and memory at one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArmOffer {
    /// By thread.
    pub threads: Vec<ThreadOffer>,
}

/// How to reach one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadOffer {
    /// Its endpoints, by rail.
    pub addresses: EndpointAddresses,
    /// Its memory.
    pub regions: Vec<RegionOffer>,
}

/// How to reach memory of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegionOffer {
    /// Kind.
    pub kind: MemoryKind,
    /// Address and key, by rail.
    pub region: RemoteRegion,
}
