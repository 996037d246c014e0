//! Caches of runs, Jobs, pods and nodes, which watches keep up to date, reduced to the fields that are needed. I/O.
//!
//! The absence of an object here proves nothing: callers that need to know that an object is gone ask the API server.

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
    /// The key of the run with this metadata.
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
