//! Handles an object that cannot be read as a run: reports the reason, and removes the finalizer when the object is
//! deleted. Performs I/O.
//!
//! The object may be a run that a newer release has started, so the results in its status are never overwritten.

use campaign::status;
use crds::names;
use kube::core::ObjectMeta;

use super::apply::Applier;
use super::build;
use super::context::Context;
use super::decide::{POD_LIST_INTERVAL, is_overdue};
use super::error::ReconcileError;
use super::observe;
use super::queue::Requeue;
use super::store::{RunKey, UnreadableRun};
use super::update_status::{RunVersion, StatusError};
use crate::events;

/// Reconciles an object that cannot be read as a run.
pub(super) async fn reconcile(
    context: &Context,
    key: &RunKey,
    unreadable: &UnreadableRun,
) -> Result<Requeue, ReconcileError> {
    let metadata = &unreadable.metadata;
    let mut finalizers = metadata.finalizers.iter().flatten();
    let has_finalizer = finalizers.any(|name| name == names::FINALIZER);
    if metadata.deletion_timestamp.is_some() && has_finalizer {
        return release(context, key, metadata).await;
    }
    report(context, key, unreadable).await?;
    Ok(Requeue::AwaitChange)
}

/// Deletes the Jobs of an object that is being deleted, and removes its finalizer after all its pods are gone or
/// abandoned.
async fn release(context: &Context, key: &RunKey, metadata: &ObjectMeta) -> Result<Requeue, ReconcileError> {
    let uid = metadata.uid.as_deref().unwrap_or_default();
    let client = &context.writer.client;
    let applier = Applier {
        client,
        key,
        run_uid: uid,
    };
    let jobs = observe::jobs(context, key, uid);
    for job in jobs.iter().filter(|job| !job.deleting) {
        let name = build::names::attempt(uid, job.attempt);
        // The garbage collector deletes a template of claims with the run. Whether there is one cannot be read.
        applier.delete(&name, &job.uid, false).await?;
    }
    let annotations = metadata.annotations.as_ref();
    let abandon = annotations.is_some_and(|all| all.contains_key(names::ANNOTATION_RELEASE_PODS));
    let pods = observe::list_pods(context, key, uid).await?;
    let now = context.now();
    if !jobs.is_empty() || pods.iter().any(|pod| !(abandon && is_overdue(pod, now))) {
        return Ok(Requeue::After(POD_LIST_INTERVAL));
    }
    let finalizers = metadata.finalizers.clone().unwrap_or_default();
    let version = metadata.resource_version.as_deref().unwrap_or_default();
    applier.set_finalizer(false, &finalizers, version).await?;
    Ok(Requeue::AwaitChange)
}

/// Reports why the object cannot be read, once for each generation of its spec.
async fn report(context: &Context, key: &RunKey, unreadable: &UnreadableRun) -> Result<(), StatusError> {
    let metadata = &unreadable.metadata;
    if !context.mark_reported(key, (metadata.uid.clone(), metadata.generation)) {
        return Ok(());
    }
    let message = format!(
        "this object cannot be read as a BenchmarkRun: {}. Delete it and create a new run",
        unreadable.reason
    );
    let now = context.now().to_string();
    let rejected = status::rejected_status(&message, metadata.generation, &now, None);
    let version = RunVersion {
        key,
        uid: metadata.uid.as_deref().unwrap_or_default(),
        resource_version: metadata.resource_version.as_deref().unwrap_or_default(),
        status: None,
    };
    let publish = async || {
        let events = events::between(None, &rejected, Some(&message));
        context.writer.publish(&version, &events).await;
    };
    if unreadable.started {
        publish().await;
        return Ok(());
    }
    match context.writer.write(&version, &rejected, Some(&message)).await {
        Ok(_) => Ok(()),
        // The API server also rejects the status of this object, so only an event can report the reason.
        Err(StatusError::Invalid { .. }) => {
            publish().await;
            Ok(())
        }
        Err(error) => {
            context.clear_reported(key);
            Err(error)
        }
    }
}
