//! What the cluster holds that concerns runs, kept up to date by watches and reduced to what is needed. I/O, and no
//! decision.
//!
//! Nothing is concluded from an absence here: whoever needs to know that something is gone asks the API server.

mod children;
mod mirror;
mod runs;
mod watch;

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub(super) use children::{Child, ChildKey, job, pod};
pub(super) use mirror::Mirror;
pub(super) use runs::{StoredRun, UnreadableRun};
pub(super) use watch::{Scope, watch};

/// Namespace and name of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl RunKey {
    /// The key of the run with this metadata.
    pub(super) fn of(metadata: &ObjectMeta) -> Option<Self> {
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
