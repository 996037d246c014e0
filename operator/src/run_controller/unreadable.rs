//! An object that cannot be read as a run: says why, and lets it go when it is deleted. I/O.
//!
//! It may be a run that a newer release has begun: what its status says of results is never written over.

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use jiff::Timestamp;
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::core::ObjectMeta;
use kube::core::error_boundary::InvalidObject;
use serde_json::Value;
use tracing::warn;

use super::apply::Applier;
use super::build;
use super::context::Context;
use super::decide::LIST_AGAIN;
use super::observe;
use super::queue::Again;
use super::reconcile::LookError;
use super::store::RunKey;
use super::update_status::{StatusError, Target};
use crate::campaign::status;
use crate::events;

/// Does what can be done for an object without its spec.
pub(super) async fn look(
    context: &Context,
    key: &RunKey,
    invalid: &InvalidObject,
) -> Result<Again, LookError> {
    let metadata = &invalid.metadata;
    let mut finalizers = metadata.finalizers.iter().flatten();
    let ours = finalizers.any(|name| name == names::FINALIZER);
    if metadata.deletion_timestamp.is_some() && ours {
        return release(context, key, metadata).await;
    }
    refuse(context, key, invalid).await?;
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
async fn refuse(context: &Context, key: &RunKey, invalid: &InvalidObject) -> Result<(), StatusError> {
    let metadata = &invalid.metadata;
    let version = (metadata.uid.clone(), metadata.generation);
    if !context.tell_once(key, version) {
        return Ok(());
    }
    let (why, begun) = fault(context, key, invalid).await;
    let message =
        format!("this object cannot be read as a BenchmarkRun: {why}. Delete it, and make a new run");
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
    if begun {
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

/// Why an object cannot be read, with the path of the field, and whether its status says that a run was begun: the cache
/// knows the reason alone, so the object is read once more.
async fn fault(context: &Context, key: &RunKey, invalid: &InvalidObject) -> (String, bool) {
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let client = context.writer.client.clone();
    let api: Api<DynamicObject> = Api::namespaced_with(client, &key.namespace, &kind);
    let object = api.get(&key.name).await;
    let object = object
        .inspect_err(|error| warn!(%error, "the object cannot be read for its faulty field"))
        .ok();
    let value = object.and_then(|object| serde_json::to_value(object).ok());
    // One that could not be read may have been begun.
    let begun = value.as_ref().is_none_or(is_begun);
    let why = match value.map(serde_path_to_error::deserialize::<_, BenchmarkRun>) {
        Some(Err(error)) => format!("{}: {}", error.path(), error.inner()),
        // It changed meanwhile, or is not to be had: there will be another look.
        Some(Ok(_)) | None => invalid.error.clone(),
    };
    (why, begun)
}

/// Whether a controller that could read the object has planned it.
fn is_begun(object: &Value) -> bool {
    object
        .pointer("/status/planHash")
        .or_else(|| object.pointer("/status/execution"))
        .is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_planned_is_told_from_what_never_was() {
        assert!(!is_begun(&json!({"spec": {}})));
        assert!(!is_begun(
            &json!({"status": {"conditions": [{"type": "Accepted", "status": "False"}]}})
        ));
        assert!(is_begun(&json!({"status": {"planHash": "a"}})));
        assert!(is_begun(&json!({"status": {"execution": {}}})));
    }
}
