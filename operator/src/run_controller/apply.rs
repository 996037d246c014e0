//! Creates the objects of an attempt, create-only; deletes them again. I/O, and no decision.
//!
//! Names follow from run, leg and attempt, so that an object which is there already is this one or somebody else's: the
//! UID of its owner and the hash of the plan say which.

use std::fmt::Debug;

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ObjectMeta, PartialObjectMeta, Status};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use snafu::{ResultExt, Snafu};

use super::store::RunKey;
use crate::metrics::operator::Category;

/// Why something was not created or deleted.
#[derive(Debug, Snafu)]
pub enum ApplyError {
    /// The name is taken by something that is not the run's, or is of another plan.
    #[snafu(display(
        "{kind} {name} is there already and is not of this run and plan. Delete it, or make a new run"
    ))]
    Foreign {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The cluster refuses the object as it is: a quota, a policy, a bound of the API.
    #[snafu(display("{kind} {name} is refused: {message}"))]
    Refused {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// In the cluster's words.
        message: String,
        /// Whether no later try can succeed.
        for_good: bool,
    },
    /// The API server did not do it, and may later.
    #[snafu(display("{what}: {source}"))]
    Api {
        /// What was tried.
        what: String,
        /// Why not.
        source: kube::Error,
    },
}

impl ApplyError {
    /// Whether the object was changed since it was read.
    pub(super) fn is_change(&self) -> bool {
        matches!(self, Self::Api { source: kube::Error::Api(status), .. } if status.is_conflict())
    }

    /// The label of the metric.
    pub(super) fn category(&self) -> Category {
        match self {
            Self::Foreign { .. } => Category::NameCollision,
            Self::Refused { .. } => Category::RequestRejected,
            Self::Api { .. } => Category::RequestFailed,
        }
    }
}

/// The objects of one run, in its namespace.
#[derive(Clone)]
pub(super) struct Applier<'a> {
    pub(super) client: &'a Client,
    pub(super) key: &'a RunKey,
    pub(super) run_uid: &'a str,
}

impl Applier<'_> {
    /// Creates one object of the run, or gives the one that was created before by this plan.
    pub(super) async fn create_one<K>(&self, object: &K, plan_hash: &str) -> Result<K, ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
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
                let what = || format!("reading {kind} {name}");
                let found = api.get(&name).await.with_context(|_| ApiSnafu { what: what() })?;
                match self.is_ours(found.meta(), plan_hash) {
                    true => Ok(found),
                    false => ForeignSnafu { kind, name }.fail(),
                }
            }
            // A quota that this very object fills refuses it before it is seen to be there.
            kube::Error::Api(status) if status.code == 403 => {
                let found = api.get_opt(&name).await.ok().flatten();
                match found.filter(|found| self.is_ours(found.meta(), plan_hash)) {
                    Some(found) => Ok(found),
                    None => refused(kind, name, status),
                }
            }
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => refused(kind, name, status),
            _ => Err(error).with_context(|_| ApiSnafu {
                what: format!("creating {kind} {name}"),
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
        let mut owners = metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true) && owner.uid == self.run_uid)
    }

    /// Deletes Service and ConfigMap of `name` where they are the run's, then the Job with `job_uid` and its pods: while the
    /// Job is there, all of it is done again.
    pub(super) async fn delete(&self, name: &str, job_uid: &str) -> Result<(), ApplyError> {
        futures::try_join!(
            self.delete_owned::<Service>(name),
            self.delete_owned::<ConfigMap>(name)
        )?;
        self.delete_one::<Job>(name, job_uid).await
    }

    async fn delete_owned<K>(&self, name: &str) -> Result<(), ApplyError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.key.namespace);
        let found = api.get_metadata_opt(name).await.with_context(|_| ApiSnafu {
            what: format!("reading {} {name}", K::kind(&())),
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
            // Another object of that name by now, or none: this one is gone.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(error) => Err(error).with_context(|_| ApiSnafu {
                what: format!("deleting {} {name}", K::kind(&())),
            }),
        }
    }

    /// Adds or removes the finalizer of the run, which has these now and is of this version. Gives the new version.
    pub(super) async fn finalizer(
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
                what: "changing the finalizer",
            }),
        }
    }

    /// Deletes the run itself.
    pub(super) async fn delete_run(&self) -> Result<(), ApplyError> {
        match self.runs().delete(&self.key.name, &by_uid(self.run_uid)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(error) => Err(error).with_context(|_| ApiSnafu {
                what: "deleting the run",
            }),
        }
    }

    /// Answers are read for their metadata only, so that a spec that cannot be read does no harm.
    fn runs(&self) -> Api<PartialObjectMeta<BenchmarkRun>> {
        Api::namespaced(self.client.clone(), &self.key.namespace)
    }
}

/// 422: the object itself. 403, and 400 of an admission webhook: quotas, policies and rights may be mended.
fn refused<T>(kind: String, name: String, status: &Status) -> Result<T, ApplyError> {
    RefusedSnafu {
        kind,
        name,
        message: status.message.clone(),
        for_good: status.code == 422,
    }
    .fail()
}

/// Only the object with this UID.
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
