//! Creates (never updates) and deletes the objects of an attempt, and patches and deletes the run. Performs I/O.
//!
//! Names are derived from the run, the leg and the attempt. An existing object with the same name is accepted only if
//! the run's UID is that of its controller, its plan hash and its content match, and it is not being deleted.

mod spec_field;

use std::fmt::Debug;

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use futures::future::OptionFuture;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::resource::v1::ResourceClaimTemplate;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ObjectMeta, PartialObjectMeta, Status};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use snafu::{ResultExt, Snafu};

use super::build::labels;
use super::store::RunKey;
use crate::metrics::operator::Category;

/// Error creating or deleting an object.
#[derive(Debug, Snafu)]
pub(super) enum ApplyError {
    /// An object with the same name belongs to another owner or plan, or is being deleted.
    #[snafu(display(
        "{kind} {name} already exists and does not belong to this run and plan. Delete it or create a new run"
    ))]
    Foreign {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
    /// An object with the same name and owner has other content.
    #[snafu(display(
        "{kind} {name} already exists with other content than this run needs, and is not used. Delete it, so that the run \
         continues"
    ))]
    Altered {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
    /// The API server rejects the object, for example because of a quota or a policy.
    #[snafu(display("{kind} {name} was rejected: {message}"))]
    Rejected {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// Message from the API server.
        message: String,
        /// Whether a retry cannot succeed.
        permanent: bool,
    },
    /// A request failed but may succeed later.
    #[snafu(display("{action} failed: {source}"))]
    Api {
        /// The request, such as `creating Job fb-1`.
        action: String,
        /// Cause.
        source: kube::Error,
    },
}

impl ApplyError {
    /// Whether the request failed because the object has changed since it was read.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Api { source: kube::Error::Api(status), .. } if status.is_conflict())
    }

    /// Returns the error category for the error metric.
    pub(super) fn category(&self) -> Category {
        match self {
            Self::Foreign { .. } | Self::Altered { .. } => Category::NameCollision,
            Self::Rejected { .. } => Category::RequestRejected,
            Self::Api { .. } if self.is_conflict() => Category::Conflict,
            Self::Api { .. } => Category::RequestFailed,
        }
    }
}

/// An object of an attempt.
pub(super) trait AttemptObject {
    /// Whether this object, which exists in the cluster, has the content of `intended`. Owner references and annotations
    /// prove nothing: anyone who can create objects can copy them.
    fn has_content_of(&self, intended: &Self) -> bool;
}

impl AttemptObject for ConfigMap {
    fn has_content_of(&self, intended: &Self) -> bool {
        let contents = |map: &Self| (map.data.clone(), map.binary_data.clone());
        contents(self) == contents(intended)
    }
}

impl AttemptObject for Service {
    fn has_content_of(&self, intended: &Self) -> bool {
        // The API server sets the other fields.
        let selector = |service: &Self| service.spec.as_ref().and_then(|spec| spec.selector.clone());
        selector(self) == selector(intended)
    }
}

impl AttemptObject for ResourceClaimTemplate {
    fn has_content_of(&self, intended: &Self) -> bool {
        self.spec == intended.spec
    }
}

impl AttemptObject for Job {
    /// Always true, because a queue and admission webhooks change Jobs.
    fn has_content_of(&self, _: &Self) -> bool {
        true
    }
}

/// Creates and deletes the objects of one run.
#[derive(Clone)]
pub(super) struct Applier<'a> {
    pub(super) client: &'a Client,
    pub(super) key: &'a RunKey,
    pub(super) run_uid: &'a str,
}

impl Applier<'_> {
    /// Creates one object of the run, or returns the existing one if it belongs to the run and the plan.
    pub(super) async fn create_one<K>(&self, object: &K, plan_hash: &str) -> Result<K, ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned
            + AttemptObject,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.key.namespace);
        let kind = K::kind(&()).into_owned();
        let name = object.meta().name.clone().unwrap_or_default();
        let error = match api.create(&PostParams::default(), object).await {
            Ok(created) => return Ok(created),
            Err(error) => error,
        };
        match &error {
            kube::Error::Api(status) if status.is_already_exists() => {
                let found = api.get(&name).await.with_context(|_| ApiSnafu {
                    action: format!("reading {kind} {name}"),
                })?;
                match self.is_ours(found.meta(), plan_hash) {
                    true if found.has_content_of(object) => Ok(found),
                    true => AlteredSnafu { kind, name }.fail(),
                    false => ForeignSnafu { kind, name }.fail(),
                }
            }
            // If the existing object itself exhausts a quota, the API server reports the exceeded quota rather than the
            // existing object.
            kube::Error::Api(status) if status.code == 403 => {
                let found = api.get_opt(&name).await.ok().flatten();
                match found.filter(|found| self.is_ours(found.meta(), plan_hash)) {
                    Some(found) if found.has_content_of(object) => Ok(found),
                    Some(_) => AlteredSnafu { kind, name }.fail(),
                    None => rejection_error(kind, name, status),
                }
            }
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => {
                rejection_error(kind, name, status)
            }
            _ => Err(error).with_context(|_| ApiSnafu {
                action: format!("creating {kind} {name}"),
            }),
        }
    }

    fn is_ours(&self, metadata: &ObjectMeta, plan_hash: &str) -> bool {
        let annotations = metadata.annotations.as_ref();
        let hash = annotations.and_then(|annotations| annotations.get(names::ANNOTATION_PLAN_HASH));
        metadata.deletion_timestamp.is_none()
            && self.owns(metadata)
            && hash.is_some_and(|hash| hash == plan_hash)
    }

    fn owns(&self, metadata: &ObjectMeta) -> bool {
        labels::is_controlled_by(metadata, self.run_uid)
    }

    /// Deletes the Service and the ConfigMap `name` if the run owns them, and the template of its claims if `has_claims` is
    /// true, then the Job with `job_uid` and its pods. The Job is deleted last, because the whole deletion is repeated while
    /// the Job exists.
    pub(super) async fn delete(&self, name: &str, job_uid: &str, has_claims: bool) -> Result<(), ApplyError> {
        let template = has_claims.then(|| self.delete_owned::<ResourceClaimTemplate>(name));
        futures::try_join!(
            self.delete_owned::<Service>(name),
            self.delete_owned::<ConfigMap>(name),
            async { OptionFuture::from(template).await.transpose() },
        )?;
        self.delete_one::<Job>(name, job_uid).await
    }

    async fn delete_owned<K>(&self, name: &str) -> Result<(), ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.key.namespace);
        let found = api.get_metadata_opt(name).await.with_context(|_| ApiSnafu {
            action: format!("reading {} {name}", K::kind(&())),
        })?;
        match found
            .map(|found| found.metadata)
            .filter(|metadata| self.owns(metadata))
        {
            Some(ObjectMeta { uid: Some(uid), .. }) => self.delete_one::<K>(name, &uid).await,
            _ => Ok(()),
        }
    }

    async fn delete_one<K>(&self, name: &str, uid: &str) -> Result<(), ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.key.namespace);
        match api.delete(name, &by_uid(uid)).await {
            Ok(_) => Ok(()),
            // The object is gone. A conflict means that another object now has the same name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(error) => Err(error).with_context(|_| ApiSnafu {
                action: format!("deleting {} {name}", K::kind(&())),
            }),
        }
    }

    /// Adds or removes the run's finalizer. `finalizers` are the run's finalizers at resource version `version`.
    /// Returns the new resource version; `None` if the run is gone.
    pub(super) async fn set_finalizer(
        &self,
        present: bool,
        finalizers: &[String],
        version: &str,
    ) -> Result<Option<String>, ApplyError> {
        let others = finalizers.iter().filter(|name| *name != names::FINALIZER);
        let mut wanted: Vec<&str> = others.map(String::as_str).collect();
        if present {
            wanted.push(names::FINALIZER);
        }
        let patch = json!({"metadata": {"resourceVersion": version, "finalizers": wanted}});
        let patched = self
            .runs()
            .patch(&self.key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        match patched {
            Ok(run) => Ok(run.metadata.resource_version),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(error) => Err(error).with_context(|_| ApiSnafu {
                action: "changing the finalizer",
            }),
        }
    }

    /// Deletes the run itself.
    pub(super) async fn delete_run(&self) -> Result<(), ApplyError> {
        match self.runs().delete(&self.key.name, &by_uid(self.run_uid)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(error) => Err(error).with_context(|_| ApiSnafu {
                action: "deleting the run",
            }),
        }
    }

    /// Returns an API client for runs that reads only the metadata in responses, so that an unreadable spec does not
    /// cause an error.
    fn runs(&self) -> Api<PartialObjectMeta<BenchmarkRun>> {
        Api::namespaced(self.client.clone(), &self.key.namespace)
    }
}

/// Returns the error for an object that the API server has rejected. Only status 422 is permanent, because it means
/// that the object is invalid. Status 403, and status 400 from an admission webhook, result from quotas, policies and
/// permissions, which may change.
fn rejection_error<T>(kind: String, name: String, status: &Status) -> Result<T, ApplyError> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut fields: Vec<String> = causes
        .filter_map(|cause| spec_field::of(&kind, &cause.field))
        .collect();
    fields.dedup();
    let remedy = match fields.is_empty() {
        true => String::new(),
        false => format!(". Correct {} of the run", fields.join(" and ")),
    };
    RejectedSnafu {
        kind,
        name,
        message: format!("{}{remedy}", status.message),
        permanent: status.code == 422,
    }
    .fail()
}

/// Delete parameters that match only the object with this UID.
fn by_uid(uid: &str) -> DeleteParams {
    DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::background()
    }
}

#[cfg(test)]
mod tests;
