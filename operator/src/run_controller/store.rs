//! Caches that hold the required fields of runs, Jobs, pods and nodes. Watches keep the caches up to date. Performs
//! I/O.
//!
//! The absence of an object from a cache does not prove that the object is gone. Callers that need such proof send a
//! request to the API server.

mod cache;
mod children;
mod runs;
mod watch;

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub(super) use cache::Cache;
pub(super) use children::{Child, ChildKey, job_entry, pod_entry};
pub(super) use runs::{CachedRun, UnreadableRun};
pub(super) use watch::{WatchScope, watch};

/// Namespace and name of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    /// Namespace of the run.
    pub namespace: String,
    /// Name of the run.
    pub name: String,
}

impl RunKey {
    /// Returns the key of the run with this metadata.
    pub(super) fn from_metadata(metadata: &ObjectMeta) -> Option<Self> {
        Some(Self {
            namespace: metadata.namespace.clone()?,
            name: metadata.name.clone()?,
        })
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
