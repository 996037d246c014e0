//! Runs as they are kept: decoded, or the reason why not. Pure.

use std::sync::Arc;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;

use crate::metrics::RunFigures;

/// Where `kubectl apply` keeps a second copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A run, or what is left of an object that is none.
#[derive(Clone, Debug)]
pub(in crate::run_controller) enum StoredRun {
    /// It can be read. What the metrics need of it is taken before the rest is dropped.
    Run(Arc<BenchmarkRun>, Arc<RunFigures>),
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
    /// Of what the watch gave, with at most `max_series` series for the metrics.
    pub(in crate::run_controller) fn new(guard: DeserializeGuard<BenchmarkRun>, max_series: usize) -> Self {
        match guard.0 {
            Ok(mut run) => {
                let figures = RunFigures::of(&run, max_series);
                prune(&mut run);
                Self::Run(Arc::new(run), Arc::new(figures))
            }
            Err(mut invalid) => {
                prune_metadata(&mut invalid.metadata);
                Self::Unreadable(Arc::new(invalid))
            }
        }
    }

    /// What the metrics need of it.
    pub(in crate::run_controller) fn figures(self) -> Option<Arc<RunFigures>> {
        match self {
            Self::Run(_, figures) => Some(figures),
            Self::Unreadable(_) => None,
        }
    }

    pub(in crate::run_controller) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Run(run, _) => &run.metadata,
            Self::Unreadable(invalid) => &invalid.metadata,
        }
    }
}

/// Drops what is never looked at.
fn prune_metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// The same for a run: of a finished one, everything but its deadlines, conditions and progress.
fn prune(run: &mut BenchmarkRun) {
    prune_metadata(&mut run.metadata);
    let Some(status) = &mut run.status else { return };
    let over = status
        .execution
        .as_ref()
        .and_then(|execution| execution.finished_at.as_ref());
    if over.is_some() {
        run.spec.variants = Vec::new();
        run.spec.scenarios = Vec::new();
        run.spec.expectations = Vec::new();
        status.results = Vec::new();
        status.comparisons = Vec::new();
        status.expectations = Vec::new();
        status.pairs = Vec::new();
        status.nodes = Vec::new();
        status.warnings = Vec::new();
        status.environment = None;
    }
}
