//! The newest known version of one run. Performs no I/O.

use crds::names;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};

use super::execution_state::ExecutionState;
use super::session::Session;
use super::store::RunKey;

/// The newest known version of a run: either the cached version, or a later version that this process wrote.
pub(super) struct RunSnapshot<'a> {
    pub(super) key: &'a RunKey,
    /// The cached run. Its status and finalizers may be older than the fields below.
    pub(super) object: &'a BenchmarkRun,
    pub(super) uid: &'a str,
    pub(super) resource_version: String,
    pub(super) status: Option<BenchmarkRunStatus>,
    pub(super) has_finalizer: bool,
}

impl<'a> RunSnapshot<'a> {
    /// Returns the newer of the cached run and this process's last write. Removes the last write from the session once
    /// the cache has caught up.
    pub(super) fn latest(
        key: &'a RunKey,
        object: &'a BenchmarkRun,
        uid: &'a str,
        session: &mut Session,
    ) -> Self {
        let resource_version = object.metadata.resource_version.clone().unwrap_or_default();
        // The resource versions of a resource are increasing integers. A value that is not an integer is treated as the
        // newest.
        let number = |version: &str| version.parse::<u64>().unwrap_or(u64::MAX);
        session
            .last_write
            .take_if(|written| number(&resource_version) >= number(&written.resource_version));
        match &session.last_write {
            Some(written) => Self {
                key,
                object,
                uid,
                resource_version: written.resource_version.clone(),
                status: written.status.clone(),
                has_finalizer: written.has_finalizer,
            },
            None => {
                let mut finalizers = object.metadata.finalizers.iter().flatten();
                Self {
                    key,
                    object,
                    uid,
                    resource_version,
                    status: object.status.clone(),
                    has_finalizer: finalizers.any(|name| name == names::FINALIZER),
                }
            }
        }
    }

    /// Returns the execution state in the status.
    pub(super) fn persisted(&self) -> ExecutionState {
        self.status
            .as_ref()
            .map(ExecutionState::from_status)
            .unwrap_or_default()
    }
}
