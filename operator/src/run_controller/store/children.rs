//! Cache entries for Jobs and pods, ordered by the run that they belong to. Performs no I/O.

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::RunKey;
use crate::run_controller::observed::{JobState, PodState};

/// Key of a child. It starts with the namespace and the UID of the run, so that the children of a run are adjacent, and
/// an object in another namespace is never a child, regardless of its labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::run_controller) struct ChildKey {
    /// Namespace of the run and the child.
    pub(in crate::run_controller) namespace: String,
    /// UID of the run.
    pub(in crate::run_controller) run_uid: String,
    /// Name of the child.
    pub(in crate::run_controller) name: String,
}

impl ChildKey {
    /// Returns the smallest possible key of any of the run's children.
    pub(in crate::run_controller) fn first(namespace: &str, run_uid: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            run_uid: run_uid.to_owned(),
            name: String::new(),
        }
    }

    /// Whether this is the key of one of the run's children.
    pub(in crate::run_controller) fn belongs_to(&self, namespace: &str, run_uid: &str) -> bool {
        self.namespace == namespace && self.run_uid == run_uid
    }
}

/// A cached child of a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run_controller) struct Child<S> {
    /// The run to which the child belongs.
    pub(in crate::run_controller) run: RunKey,
    /// The fields that decisions depend on.
    pub(in crate::run_controller) state: S,
}

/// Returns the cache entry for a Job that is observed at `now`; `None` if no run controls it.
pub(in crate::run_controller) fn job_entry(job: &Job, now: Timestamp) -> Option<(ChildKey, Child<JobState>)> {
    let mut owners = job.metadata.owner_references.iter().flatten();
    let kind = BenchmarkRun::kind(&());
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == kind)?;
    let state = JobState::from_job(job, &owner.uid, now)?;
    child(&job.metadata, owner.uid.clone(), owner.name.clone(), state)
}

/// Returns the cache entry for a pod that is observed at `now`; `None` if the pod lacks the labels of a run. The pod's Job may be gone.
pub(in crate::run_controller) fn pod_entry(pod: &Pod, now: Timestamp) -> Option<(ChildKey, Child<PodState>)> {
    let label = |name: &str| pod.metadata.labels.as_ref()?.get(name).cloned();
    let state = PodState::from_pod(pod, now)?;
    child(
        &pod.metadata,
        label(names::LABEL_RUN_UID)?,
        label(names::LABEL_RUN)?,
        state,
    )
}

fn child<S>(metadata: &ObjectMeta, run_uid: String, run: String, state: S) -> Option<(ChildKey, Child<S>)> {
    let namespace = metadata.namespace.clone()?;
    let key = ChildKey {
        namespace: namespace.clone(),
        run_uid,
        name: metadata.name.clone()?,
    };
    let run = RunKey { namespace, name: run };
    Some((key, Child { run, state }))
}
