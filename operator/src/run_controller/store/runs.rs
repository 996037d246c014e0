//! Runs as they are kept: decoded, or the reason why not. Pure.

use std::sync::Arc;

use crds::v1alpha1::{BenchmarkRun, State};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;

/// Where `kubectl apply` keeps a second copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A run, or what is left of an object that is none.
#[derive(Clone, Debug)]
pub(in crate::run_controller) enum StoredRun {
    /// It can be read.
    Run(Arc<BenchmarkRun>),
    /// It satisfies no version of the schema that this program knows.
    Unreadable(Arc<InvalidObject>),
}

/// The same version of the same object.
impl PartialEq for StoredRun {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.metadata(), other.metadata());
        one.uid == other.uid
            && one.resource_version.is_some()
            && one.resource_version == other.resource_version
    }
}

impl StoredRun {
    pub(in crate::run_controller) fn new(mut guard: DeserializeGuard<BenchmarkRun>) -> Self {
        prune(&mut guard);
        match guard.0 {
            Ok(run) => Self::Run(Arc::new(run)),
            Err(invalid) => Self::Unreadable(Arc::new(invalid)),
        }
    }

    pub(in crate::run_controller) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Run(run) => &run.metadata,
            Self::Unreadable(invalid) => &invalid.metadata,
        }
    }
}

/// Drops what is never looked at: for a finished run, everything but its deadlines, conditions and progress.
fn prune(guard: &mut DeserializeGuard<BenchmarkRun>) {
    let metadata = match &mut guard.0 {
        Ok(run) => &mut run.metadata,
        Err(invalid) => &mut invalid.metadata,
    };
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    let Ok(run) = &mut guard.0 else { return };
    let Some(status) = &mut run.status else { return };
    if matches!(status.state, Some(State::Complete | State::Failed)) {
        run.spec.variants = Vec::new();
        run.spec.scenarios = Vec::new();
        run.spec.expectations = Vec::new();
        status.results = Vec::new();
        status.comparisons = Vec::new();
        status.expectations = Vec::new();
        status.warnings = Vec::new();
        status.environment = None;
    }
}
