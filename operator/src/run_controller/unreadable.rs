//! An object that cannot be read as a run: says why, and lets it go when it is deleted. I/O.
//!
//! It may be a run that a newer release has begun: what its status says of results is never written over.

use crds::names;
use jiff::Timestamp;
use kube::core::ObjectMeta;

use super::apply::Applier;
use super::build;
use super::context::Context;
use super::decide::LIST_AGAIN;
use super::observe;
use super::queue::Again;
use super::reconcile::LookError;
use super::store::{RunKey, UnreadableRun};
use super::update_status::{StatusError, Target};
use crate::campaign::status;
use crate::events;

/// Does what can be done for an object without its spec.
pub(super) async fn look(
    context: &Context,
    key: &RunKey,
    unreadable: &UnreadableRun,
) -> Result<Again, LookError> {
    let metadata = &unreadable.metadata;
    let mut finalizers = metadata.finalizers.iter().flatten();
    let ours = finalizers.any(|name| name == names::FINALIZER);
    if metadata.deletion_timestamp.is_some() && ours {
        return release(context, key, metadata).await;
    }
    refuse(context, key, unreadable).await?;
    Ok(Again::OnChange)
}

/// The object is being deleted: it goes when no pod of it is left, as any run.
async fn release(context: &Context, key: &RunKey, metadata: &ObjectMeta) -> Result<Again, LookError> {
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
        applier.delete(&name, &job.uid).await?;
    }
    if !jobs.is_empty() || !observe::list_pods(client, key, uid).await?.is_empty() {
        return Ok(Again::After(LIST_AGAIN));
    }
    let finalizers = metadata.finalizers.clone().unwrap_or_default();
    let version = metadata.resource_version.as_deref().unwrap_or_default();
    applier.finalizer(false, &finalizers, version).await?;
    Ok(Again::OnChange)
}

/// Says why an object cannot be read, once for each version of its spec.
async fn refuse(context: &Context, key: &RunKey, unreadable: &UnreadableRun) -> Result<(), StatusError> {
    let metadata = &unreadable.metadata;
    let version = (metadata.uid.clone(), metadata.generation);
    if !context.tell_once(key, version) {
        return Ok(());
    }
    let message = format!(
        "this object cannot be read as a BenchmarkRun: {}. Delete it, and make a new run",
        unreadable.why
    );
    let refused = status::refused(&message, metadata.generation, &Timestamp::now().to_string(), None);
    let target = Target {
        key,
        uid: metadata.uid.as_deref().unwrap_or_default(),
        version: metadata.resource_version.as_deref().unwrap_or_default(),
        before: None,
    };
    let tell = async || {
        let events = events::between(None, &refused);
        context.writer.tell(&target, &events).await;
    };
    if unreadable.begun {
        tell().await;
        return Ok(());
    }
    match context.writer.write(&target, &refused).await {
        Ok(_) => Ok(()),
        // Where not even a status is taken, an event says why.
        Err(StatusError::Invalid { .. }) => {
            tell().await;
            Ok(())
        }
        Err(error) => {
            context.tell_again(key);
            Err(error)
        }
    }
}
