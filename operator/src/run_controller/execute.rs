//! Executes the decided action for one run, and updates its status. Performs I/O.

mod claims;
mod create;
mod evaluate;
mod finalizer;
mod follow;

use std::sync::Arc;
use std::time::Duration;

use campaign::status::Phase;
use crds::v1alpha1::BenchmarkRunStatus;
use jiff::Timestamp;
use tracing::info;

use super::action::{Action, CleanupBlocked, Decision};
use super::apply::Applier;
use super::build;
use super::context::Context;
use super::error::ReconcileError;
use super::execution_state::ExecutionState;
use super::follow_logs::Follower;
use super::observe::{self, Live};
use super::queue::Requeue;
use super::session::{LastWrite, REJECTION_RETRY, Session, SessionRecords};
use super::snapshot::RunSnapshot;
use super::status::{self, Planned, StatusContext};
use super::update_status::RunVersion;
use evaluate::evaluate;

/// Margin added to a delay to ensure that the intended time has passed when the delay ends.
const SLACK: Duration = Duration::from_millis(20);

/// Executes one step of the reconciliation of one run.
pub(super) struct Reconciler<'a> {
    pub(super) context: &'a Arc<Context>,
    pub(super) snapshot: RunSnapshot<'a>,
    pub(super) session: &'a mut Session,
}

/// Result of one step.
pub(super) enum StepResult {
    /// The next step follows immediately.
    Continue,
    /// The next step follows immediately and uses these objects from an uncached list.
    Listed(Live),
    /// The reconciliation is done.
    Done(Requeue),
}

impl Reconciler<'_> {
    /// Persists the records that were read from the log, if a write is due. Decisions take only persisted records into
    /// account.
    pub(super) async fn persist_records(&mut self) -> Result<(), ReconcileError> {
        self.persist_with(Follower::take_due).await
    }

    /// Persists every verified block, because no records are read afterward.
    async fn persist_remaining_records(&mut self) -> Result<(), ReconcileError> {
        self.persist_with(Follower::take_remaining).await
    }

    async fn persist_with(
        &mut self,
        take: impl FnOnce(&Follower) -> Option<Vec<u8>>,
    ) -> Result<(), ReconcileError> {
        self.persist_claims().await?;
        let lines = match (&self.session.follower, &self.session.records) {
            (Some(follower), SessionRecords::Read { .. }) => take(follower),
            _ => return Ok(()),
        };
        let lines_were_taken = lines.is_some();
        if let Some(lines) = lines {
            self.append(&lines).await?;
        }
        if let (Some(follower), SessionRecords::Read { collector, .. }) =
            (&self.session.follower, &mut self.session.records)
        {
            if lines_were_taken {
                follower.mark_persisted();
            }
            if follower.state().closed {
                collector.end_of_input();
            }
        }
        Ok(())
    }

    /// Appends whole lines to the stored records. If the run cannot store them, the session has neither records nor a
    /// follower afterward.
    async fn append(&mut self, lines: &[u8]) -> Result<(), ReconcileError> {
        let SessionRecords::Read { store, collector } = &mut self.session.records else {
            return Ok(());
        };
        if let Err(error) = store.append(self.snapshot.object, lines).await {
            // The write may have succeeded despite the error, so the records are reloaded and the log is read again
            // from its first byte.
            self.session.records = match error.is_permanent() {
                true => SessionRecords::Broken(error.to_string()),
                false => SessionRecords::Unread,
            };
            self.session.follower = None;
            return match error.is_permanent() {
                true => Ok(()),
                false => Err(error.into()),
            };
        }
        collector.feed(lines);
        self.session.evaluation = None;
        Ok(())
    }

    /// Executes `decision`, and writes the status if the decision changes it.
    pub(super) async fn execute(&mut self, decision: Decision) -> Result<StepResult, ReconcileError> {
        let Decision {
            action,
            phase,
            cleanup_blocked,
        } = decision;
        let cleanup_blocked = cleanup_blocked.as_ref();
        match action {
            Action::Wait { until } => {
                let persisted = self.snapshot.persisted();
                self.update_status(&persisted, phase, cleanup_blocked).await?;
                Ok(StepResult::Done(self.requeue_at(until)))
            }
            Action::RecordProgress(state) => {
                if state.finished_at.is_some() {
                    self.persist_remaining_records().await?;
                }
                self.update_status(&state, phase, cleanup_blocked).await?;
                Ok(StepResult::Continue)
            }
            Action::RemoveFinalizer => {
                let version = self.patch_finalizer(false).await?;
                self.note_finalizer(false, version);
                Ok(StepResult::Done(Requeue::AwaitChange))
            }
            Action::ReadRecords => self.read_records().await,
            Action::CreateJob { attempt, nodes } => self.create_job(attempt, &nodes).await,
            Action::CreatePrerequisites { attempt, nodes } => {
                self.create_missing_prerequisites(attempt, &nodes).await
            }
            Action::FollowLog {
                attempt,
                pod,
                pod_uid,
            } => self.follow_log(attempt, pod, pod_uid).await,
            Action::DeleteAttempt { attempt, job_uid } => {
                let name = build::names::attempt(self.snapshot.uid, attempt);
                let has_claims = self.snapshot.object.spec.claims_devices();
                self.applier().delete(&name, &job_uid, has_claims).await?;
                self.session.prerequisites_ready = None;
                info!(run = %self.snapshot.key, job = name, "deleted the Job");
                Ok(StepResult::Done(Requeue::AwaitChange))
            }
            Action::ListPods => {
                let RunSnapshot { key, uid, .. } = &self.snapshot;
                let pods = observe::list_pods(self.context, key, uid).await?;
                Ok(StepResult::Listed(Live {
                    pods: Some(pods),
                    ..Live::default()
                }))
            }
            Action::ListJobs => {
                let RunSnapshot { key, uid, .. } = &self.snapshot;
                let jobs = observe::list_jobs(self.context, key, uid).await?;
                Ok(StepResult::Listed(Live {
                    jobs: Some(jobs),
                    ..Live::default()
                }))
            }
            Action::DeleteRun => {
                self.applier().delete_run().await?;
                info!(run = %self.snapshot.key, "deleted the run: ttlSecondsAfterFinished has passed");
                Ok(StepResult::Done(Requeue::AwaitChange))
            }
        }
    }

    /// Requeues the run at `until` or at the time for retrying a rejected creation, whichever comes first.
    fn requeue_at(&self, until: Option<Timestamp>) -> Requeue {
        let remaining = |until: Timestamp| until.duration_since(self.context.clock.now());
        let until = until.map(|until| Duration::try_from(remaining(until)).unwrap_or(Duration::ZERO) + SLACK);
        let rejection = self.session.creation_rejected.as_ref();
        let retry = rejection.filter(|(rejected, _)| !rejected.permanent);
        let retry = retry.map(|(_, at)| REJECTION_RETRY.saturating_sub(at.elapsed()) + SLACK);
        match until.into_iter().chain(retry).min() {
            Some(delay) => Requeue::After(delay),
            None => Requeue::AwaitChange,
        }
    }

    fn applier(&self) -> Applier<'_> {
        Applier {
            client: &self.context.writer.client,
            key: self.snapshot.key,
            run_uid: self.snapshot.uid,
        }
    }

    /// Writes the status, unless it is unchanged.
    async fn update_status(
        &mut self,
        state: &ExecutionState,
        phase: Option<Phase>,
        cleanup_blocked: Option<&CleanupBlocked>,
    ) -> Result<(), ReconcileError> {
        let now = self.context.now().to_string();
        let previous = self.snapshot.status.clone();
        let status_context = StatusContext {
            generation: self.snapshot.object.metadata.generation,
            now: &now,
            previous: previous.as_ref(),
            execution_state: state,
            cleanup_blocked,
            warning: self.context.warning,
        };
        let Some(phase) = phase else {
            return self.update_conditions(&status_context).await;
        };
        let run = self.snapshot.object;
        let mut explanation = phase.explanation().map(str::to_owned);
        let status = match self.session.plan(run, &self.context.config) {
            Err(message) => {
                let status = status::rejected_status(&status_context, &message);
                explanation = Some(message);
                status
            }
            Ok(plan) => {
                let evaluation = evaluate(&self.context.evaluations, self.session, &plan).await?;
                let records = match &self.session.records {
                    SessionRecords::Read { store, .. } => store.reference(),
                    SessionRecords::Empty => None,
                    // Records that are lost or have not been read yet remain referenced in the status.
                    SessionRecords::Unread | SessionRecords::Broken(_) => {
                        previous.as_ref().and_then(|status| status.records.clone())
                    }
                };
                let planned = Planned {
                    plan: &plan,
                    evaluation: &evaluation,
                    records,
                };
                status::planned(&status_context, planned, phase)
            }
        };
        let version = self.run_version(&previous);
        let written = self
            .context
            .writer
            .write(&version, &status, explanation.as_deref())
            .await?;
        self.note_status(written, Some(status));
        Ok(())
    }

    /// Writes only the conditions, because the cache holds only part of a finished run's status.
    async fn update_conditions(&mut self, status_context: &StatusContext<'_>) -> Result<(), ReconcileError> {
        let Some(previous) = status_context.previous else {
            return Ok(());
        };
        let conditions = status::with_cleanup_blocked(status_context, previous.conditions.clone());
        let version = self.run_version(&self.snapshot.status);
        let written = self
            .context
            .writer
            .write_conditions(&version, &conditions)
            .await?;
        let status = BenchmarkRunStatus {
            conditions,
            ..previous.clone()
        };
        self.note_status(written, Some(status));
        Ok(())
    }

    fn run_version<'b>(&'b self, status: &'b Option<BenchmarkRunStatus>) -> RunVersion<'b> {
        RunVersion {
            key: self.snapshot.key,
            uid: self.snapshot.uid,
            resource_version: &self.snapshot.resource_version,
            status: status.as_ref(),
        }
    }

    fn note_status(&mut self, resource_version: Option<String>, status: Option<BenchmarkRunStatus>) {
        let Some(resource_version) = resource_version else {
            return;
        };
        self.session.last_write = Some(Box::new(LastWrite {
            resource_version,
            status,
            has_finalizer: self.snapshot.has_finalizer,
        }));
    }
}
