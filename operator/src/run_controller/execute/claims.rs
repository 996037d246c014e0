//! Creates the template of an attempt's device claims, and stores what the claims obtained before the first block of the
//! attempt is stored. A run without claims sends none of these requests. Performs I/O.

use std::collections::BTreeSet;

use crds::record::{ChainWriter, ClaimRecord, Record};
use crds::v1alpha1::Reason;
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate, ResourceSlice};
use kube::Api;
use kube::api::ListParams;
use serde::de::DeserializeOwned;

use super::{Reconciler, StepResult};
use crate::run_controller::apply::ApplyError;
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::build::labels;
use crate::run_controller::claims;
use crate::run_controller::error::ReconcileError;
use crate::run_controller::observe;
use crate::run_controller::observed::PodState;
use crate::run_controller::session::SessionRecords;

/// Group and version of the API for Dynamic Resource Allocation.
const GROUP: &str = "resource.k8s.io";
const VERSION: &str = "v1";

/// Objects from a list request, or why the API server did not return them: they are not served, or the operator is not
/// permitted to list them.
type Listed<T> = Result<Vec<T>, String>;

impl Reconciler<'_> {
    /// Creates the template of the claims, unless a device plugin and a driver offer the same devices on a node on which the
    /// workers may run. `nodes` are the nodes of the earlier attempts. Returns a result only if it was not created.
    pub(super) async fn create_claim_template(
        &mut self,
        template: &ResourceClaimTemplate,
        plan_hash: &str,
        nodes: &[String],
    ) -> Result<Option<StepResult>, ReconcileError> {
        if let Some(not_served) = self.claims_not_served().await? {
            return Ok(Some(self.note_rejection(
                Reason::ClaimsNotServed,
                not_served,
                true,
            )));
        }
        let eligible = self.context.eligible_nodes(self.snapshot.object, nodes);
        let all = self.context.nodes.as_ref().map(|nodes| nodes.all());
        // Without the permission to read nodes, their resources are not known.
        if let (Some(eligible), Some(all)) = (eligible, all)
            && let Ok(slices) = self.list_slices(nodes.iter().cloned().collect()).await?
            && let Some(offered_twice) = claims::offered_twice(&all, &eligible, &slices)
        {
            return Ok(Some(self.note_rejection(
                Reason::DevicesOfferedTwice,
                offered_twice,
                false,
            )));
        }
        match self.applier().create_one(template, plan_hash).await {
            Ok(_) => Ok(None),
            Err(error) => self.handle_create_error(error).map(Some),
        }
    }

    /// Returns why the cluster cannot create claims; `None` if it serves them.
    async fn claims_not_served(&self) -> Result<Option<String>, ReconcileError> {
        let groups = self.context.writer.client.list_api_groups().await;
        let groups = groups.map_err(|source| ApplyError::Api {
            action: "reading the served API groups".to_owned(),
            source,
        })?;
        let group = groups.groups.into_iter().find(|group| group.name == GROUP);
        let versions = group.into_iter().flat_map(|group| group.versions);
        let versions: Vec<String> = versions.map(|version| version.version).collect();
        if versions.iter().any(|version| version == VERSION) {
            return Ok(None);
        }
        let served = match versions.is_empty() {
            true => "no version".to_owned(),
            false => format!("only {}", versions.join(", ")),
        };
        Ok(Some(format!(
            "the workers claim devices (spec.resources.claims or claims of a variant), which needs {GROUP}/{VERSION} of \
             Kubernetes 1.34 or newer, but the cluster serves {served} of {GROUP}. Upgrade the cluster, or request the \
             devices from a device plugin with gpus, efas or extended in spec.resources"
        )))
    }

    /// Stores the devices that the claims of the followed attempt obtained, if its first complete block is about to be
    /// stored and its leg has claims.
    pub(super) async fn persist_claims(&mut self) -> Result<(), ReconcileError> {
        let run = self.snapshot.object;
        let session = &mut *self.session;
        let (Some(follower), SessionRecords::Read { collector, .. }) = (&session.follower, &session.records)
        else {
            return Ok(());
        };
        let id = follower.source.attempt;
        let mut known = collector.reports().claims.iter();
        let is_known = known.any(|from| (from.leg, from.attempt) == (id.leg, id.attempt));
        if !run.spec.claims_devices() || is_known || !follower.has_complete_blocks() {
            return Ok(());
        }
        let Ok(plan) = session.plan(run, &self.context.config) else {
            return Ok(());
        };
        let leg = plan.legs.iter().find(|leg| leg.leg == id.leg);
        let Some(claims) = leg.and_then(|leg| leg.claims.as_ref()) else {
            return Ok(());
        };
        let pods = self.pods_of(id);
        let objects = self.list_claims(id).await?;
        let nodes: BTreeSet<String> = pods.iter().filter_map(|pod| pod.node.clone()).collect();
        let slices = match nodes.is_empty() {
            true => Ok(Vec::new()),
            false => self.list_slices(nodes).await?,
        };
        let identity = plan.identity(self.snapshot.uid, id.leg, id.attempt);
        let records = claims::records(
            &identity,
            (plan.workers, claims.groups),
            &pods,
            objects.as_deref().map_err(String::as_str),
            slices.as_deref().map_err(String::as_str),
        );
        let lines: String = records.into_iter().filter_map(line).collect();
        self.append(lines.as_bytes()).await?;
        Ok(())
    }

    /// Returns the pods that the Job of an attempt controls.
    fn pods_of(&self, id: AttemptId) -> Vec<PodState> {
        let (key, uid) = (self.snapshot.key, self.snapshot.uid);
        let jobs = observe::jobs(self.context, key, uid);
        let job = jobs.iter().find(|job| job.attempt == id);
        let mut pods = observe::pods(self.context, key, uid);
        pods.retain(|pod| job.is_some_and(|job| job.uid == pod.job_uid));
        pods
    }

    async fn list_claims(&self, id: AttemptId) -> Result<Listed<ResourceClaim>, ReconcileError> {
        let client = self.context.writer.client.clone();
        let name = self.snapshot.object.metadata.name.as_deref().unwrap_or_default();
        let labels = labels::attempt(self.snapshot.uid, name, id);
        let selector: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let params = ListParams::default().labels(&selector.join(","));
        list(
            Api::namespaced(client, &self.snapshot.key.namespace),
            &params,
            "ResourceClaims",
        )
        .await
    }

    /// Lists the devices that drivers offer on `nodes`, or on all nodes if there are none.
    async fn list_slices(&self, nodes: BTreeSet<String>) -> Result<Listed<ResourceSlice>, ReconcileError> {
        let api: Api<ResourceSlice> = Api::all(self.context.writer.client.clone());
        let selectors = nodes
            .iter()
            .map(|node| ListParams::default().fields(&format!("spec.nodeName={node}")));
        let selectors: Vec<ListParams> = match nodes.is_empty() {
            true => vec![ListParams::default()],
            false => selectors.collect(),
        };
        let mut found = Vec::new();
        for params in &selectors {
            match list(api.clone(), params, "ResourceSlices").await? {
                Ok(slices) => found.extend(slices),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(found))
    }
}

async fn list<K>(api: Api<K>, params: &ListParams, kind: &str) -> Result<Listed<K>, ReconcileError>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    match api.list(params).await {
        Ok(list) => Ok(Ok(list.items)),
        // A retry would not help, and the measurement is valid without the list.
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
            Ok(Err(format!("the {kind} cannot be read: {}", status.message)))
        }
        Err(source) => Err(ApplyError::Api {
            action: format!("listing {kind}"),
            source,
        }
        .into()),
    }
}

/// Formats a record as a stream of its own. If its devices do not fit in a line, the record contains none.
fn line(record: ClaimRecord) -> Option<String> {
    let stream = |record: ClaimRecord| ChainWriter::default().line(&Record::Claim(Box::new(record)));
    let whole = stream(record.clone());
    let shortened = |error: crds::record::LineError| ClaimRecord {
        devices: Vec::new(),
        unread: Some(format!("the list of devices cannot be stored: {error}")),
        ..record
    };
    whole.or_else(|error| stream(shortened(error))).ok()
}
