//! Jobs and pods as they are kept: the fields that a decision looks at, by the run they belong to. Pure.

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::RunKey;
use crate::run_controller::observed::{JobState, PodState};

/// Namespace and UID of the run first, so that its children stand together: a label in another namespace makes nothing a
/// child of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::run_controller) struct ChildKey {
    /// Namespace of both.
    pub(in crate::run_controller) namespace: String,
    /// UID of the run.
    pub(in crate::run_controller) run_uid: String,
    /// Name of the child.
    pub(in crate::run_controller) name: String,
}

impl ChildKey {
    /// The key before those of all children of the run.
    pub(in crate::run_controller) fn first(namespace: &str, run_uid: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            run_uid: run_uid.to_owned(),
            name: String::new(),
        }
    }

    /// Whether this is a child of that run.
    pub(in crate::run_controller) fn is_of(&self, namespace: &str, run_uid: &str) -> bool {
        self.namespace == namespace && self.run_uid == run_uid
    }
}

/// A child of a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run_controller) struct Child<S> {
    /// The run.
    pub(in crate::run_controller) run: RunKey,
    /// What is looked at.
    pub(in crate::run_controller) state: S,
}

/// The Job of a run that `job` is.
pub(in crate::run_controller) fn job(job: &Job) -> Option<(ChildKey, Child<JobState>)> {
    let mut owners = job.metadata.owner_references.iter().flatten();
    let kind = BenchmarkRun::kind(&());
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == kind)?;
    let state = JobState::of(job, &owner.uid)?;
    child(&job.metadata, owner.uid.clone(), owner.name.clone(), state)
}

/// The pod of a run that `pod` is, by its labels: it may have lost its Job.
pub(in crate::run_controller) fn pod(pod: &Pod) -> Option<(ChildKey, Child<PodState>)> {
    let label = |name: &str| pod.metadata.labels.as_ref()?.get(name).cloned();
    let state = PodState::of(pod)?;
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
