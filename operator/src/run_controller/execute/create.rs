//! Creates the objects of an attempt in the required order. Performs I/O.

use std::sync::Arc;
use std::time::Duration;

use campaign::collect::Reports;
use campaign::pilot::operation_counts;
use campaign::plan::HashedPlan;
use crds::v1alpha1::Reason;
use futures::future::OptionFuture;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{Reconciler, StepResult};
use crate::run_controller::apply::ApplyError;
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::build::{self, AttemptInputs, AttemptObjects, Prerequisites};
use crate::run_controller::error::ReconcileError;
use crate::run_controller::observed::CreationRejected;
use crate::run_controller::queue::Requeue;
use crate::run_controller::session::{PlannedLegs, SessionRecords};
use crate::run_controller::store::{self, Child};

impl Reconciler<'_> {
    /// Creates the Job of an attempt. Its prerequisites are created first, unless the Job is held in a queue. All
    /// objects are built in either case, so that an invalid object is detected before the Job exists.
    pub(super) async fn create_job(
        &mut self,
        id: AttemptId,
        nodes: &[String],
    ) -> Result<StepResult, ReconcileError> {
        let (objects, plan) = match self.build_objects(id, nodes) {
            Ok(objects) => objects,
            Err(result) => return Ok(result),
        };
        let AttemptObjects {
            claim_template,
            prerequisites,
            job,
        } = objects;
        // A queue computes the devices that a Job needs from the template, so the template exists before the Job.
        if let Some(template) = claim_template
            && let Some(result) = self.create_claim_template(&template, plan.hash(), nodes).await?
        {
            return Ok(result);
        }
        // A queued Job is created before its prerequisites, because its creation time determines its position in the
        // queue, and it has no pods until the queue admits it.
        let queued = job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
        if !queued && let Some(result) = self.create_prerequisites(id, &prerequisites, plan.hash()).await? {
            return Ok(result);
        }
        let job = match self.applier().create_one(&job, plan.hash()).await {
            Ok(job) => job,
            Err(error) => return self.handle_create_error(error),
        };
        info!(run = %self.snapshot.key, leg = id.leg, attempt = id.attempt, "created the Job");
        self.session.creation_rejected = None;
        // A run without recorded attempts has no records to read.
        let unread = matches!(self.session.records, SessionRecords::Unread);
        if unread && self.snapshot.persisted().attempts.is_empty() {
            self.session.records = SessionRecords::Empty;
        }
        if let Some((key, Child { run, state })) = store::job_entry(&job, self.context.now()) {
            let scope = self.context.watch_scope(&run.namespace);
            let jobs = &self.context.jobs;
            jobs.insert_if_absent(scope, key.clone(), Child { run, state });
            // If the queue has already admitted the Job, its pods are waiting for the prerequisites.
            let is_held = jobs.get(&key).is_some_and(|child| child.state.suspended);
            return Ok(StepResult::Done(match is_held {
                // Low priority lets other runs create their first Jobs before the prerequisites of this run are
                // created.
                true => Requeue::LowPriority,
                false => Requeue::After(Duration::ZERO),
            }));
        }
        Ok(StepResult::Done(Requeue::AwaitChange))
    }

    /// Creates the prerequisites of an existing Job.
    pub(super) async fn create_missing_prerequisites(
        &mut self,
        id: AttemptId,
        nodes: &[String],
    ) -> Result<StepResult, ReconcileError> {
        let (AttemptObjects { prerequisites, .. }, plan) = match self.build_objects(id, nodes) {
            Ok(objects) => objects,
            Err(result) => return Ok(result),
        };
        let interrupted = self.create_prerequisites(id, &prerequisites, plan.hash()).await?;
        Ok(interrupted.unwrap_or(StepResult::Continue))
    }

    /// Adds the finalizer if it is missing, then creates the Service, and finally the ConfigMap. No worker starts
    /// without the ConfigMap, so no worker can outlive the run or fail to resolve the names of its peers. Returns a
    /// result only if a prerequisite could not be created or the run is gone.
    async fn create_prerequisites(
        &mut self,
        id: AttemptId,
        Prerequisites { service, config_map }: &Prerequisites,
        plan_hash: &str,
    ) -> Result<Option<StepResult>, ReconcileError> {
        let missing = !self.snapshot.has_finalizer;
        let applier = self.applier();
        let (service, finalizer) = futures::join!(
            applier.create_one(service, plan_hash),
            OptionFuture::from(missing.then(|| self.patch_finalizer(true))),
        );
        match finalizer.transpose()? {
            // The run is gone.
            Some(None) => return Ok(Some(StepResult::Done(Requeue::AwaitChange))),
            Some(version) => self.note_finalizer(true, version),
            None => {}
        }
        let created = match service {
            Ok(_) => self.applier().create_one(config_map, plan_hash).await.map(drop),
            Err(error) => Err(error),
        };
        match created {
            Ok(()) => {
                self.session.creation_rejected = None;
                self.session.prerequisites_ready = Some(id);
                Ok(None)
            }
            Err(error) => self.handle_create_error(error).map(Some),
        }
    }

    /// Builds the objects of an attempt. Returns them with their plan, or the step result if they cannot be built.
    fn build_objects(
        &mut self,
        id: AttemptId,
        nodes: &[String],
    ) -> Result<(AttemptObjects, Arc<HashedPlan>), StepResult> {
        let run = self.snapshot.object;
        let config = &self.context.config;
        let Ok(plan) = self.session.plan(run, config) else {
            self.session.legs = None;
            return Err(StepResult::Continue);
        };
        let Some(Ok(PlannedLegs { stopping, .. })) = &self.session.legs else {
            return Err(StepResult::Continue);
        };
        let Some(leg) = plan.legs.iter().find(|leg| leg.leg == id.leg) else {
            return Err(StepResult::Done(Requeue::Backoff));
        };
        let no_records = Reports::default();
        let reports = self.session.reports().unwrap_or(&no_records);
        let built = build::attempt(&AttemptInputs {
            run,
            plan: &plan,
            leg: &stopping.reduce(&plan, leg),
            id,
            done: &stopping.finished_blocks(&plan, leg, reports),
            operation_counts: &operation_counts(&plan, reports),
            nodes,
            single_zone: run.spec.placement.single_zone && self.context.zones_are_known(run, nodes),
            config,
        });
        match built {
            Ok(objects) => Ok((objects, plan)),
            Err(error) => Err(self.note_rejection(Reason::FailedCreate, error.to_string(), true)),
        }
    }

    pub(super) fn handle_create_error(&mut self, error: ApplyError) -> Result<StepResult, ReconcileError> {
        let permanent = match error {
            ApplyError::Foreign { .. } => true,
            ApplyError::Altered { .. } => false,
            ApplyError::Rejected { permanent, .. } => permanent,
            ApplyError::Api { .. } => return Err(error.into()),
        };
        Ok(self.note_rejection(Reason::FailedCreate, error.to_string(), permanent))
    }

    pub(super) fn note_rejection(&mut self, reason: Reason, message: String, permanent: bool) -> StepResult {
        warn!(run = %self.snapshot.key, permanent, "an object could not be created: {message}");
        let rejected = CreationRejected {
            reason,
            message,
            permanent,
        };
        self.session.creation_rejected = Some((rejected, Instant::now()));
        StepResult::Continue
    }
}
