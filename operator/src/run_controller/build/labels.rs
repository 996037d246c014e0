//! Labels, annotations and the owner reference of a run's objects. Performs no I/O.

use std::collections::BTreeMap;

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;

use crate::run_controller::attempt_id::AttemptId;

/// Returns the labels that all objects of the run with `uid` and `name` have.
pub fn run(uid: &str, name: &str) -> BTreeMap<String, String> {
    let labels = [
        (names::LABEL_MANAGED_BY, names::MANAGED_BY),
        (names::LABEL_RUN, name),
        (names::LABEL_RUN_UID, uid),
    ];
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Returns the labels that all objects of `attempt` have.
pub fn attempt(uid: &str, name: &str, attempt: AttemptId) -> BTreeMap<String, String> {
    let mut labels = run(uid, name);
    labels.insert(names::LABEL_LEG.to_owned(), attempt.leg.to_string());
    labels.insert(names::LABEL_ATTEMPT.to_owned(), attempt.attempt.to_string());
    labels
}

/// Returns the label selector for the pods of the run with `uid`.
pub fn selector(uid: &str) -> String {
    format!("{}={uid}", names::LABEL_RUN_UID)
}

/// Returns the owner reference that makes the run the controller of an object, so that the object is garbage-collected
/// with the run.
pub fn owner(run: &BenchmarkRun) -> OwnerReference {
    OwnerReference {
        api_version: BenchmarkRun::api_version(&()).into_owned(),
        kind: BenchmarkRun::kind(&()).into_owned(),
        name: run.metadata.name.clone().unwrap_or_default(),
        uid: run.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        // The finalizer already blocks the deletion of the run, and `true` would require the permission to set
        // finalizers.
        block_owner_deletion: None,
    }
}

/// Whether the object with `metadata` is controlled by the owner with `uid`.
pub fn is_controlled_by(metadata: &ObjectMeta, uid: &str) -> bool {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

/// Returns the metadata of an object that belongs to the run, in the run's namespace.
pub fn metadata(
    run: &BenchmarkRun,
    name: String,
    labels: BTreeMap<String, String>,
    plan_hash: &str,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: run.metadata.namespace.clone(),
        labels: Some(labels),
        annotations: Some([(names::ANNOTATION_PLAN_HASH.to_owned(), plan_hash.to_owned())].into()),
        owner_references: Some(vec![owner(run)]),
        ..ObjectMeta::default()
    }
}
