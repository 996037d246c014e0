//! Does the one thing that was decided for a run, and writes what its status says. I/O.

mod create;
mod evaluate;
mod finalizer;
mod follow;

use std::sync::Arc;
use std::time::Duration;

use crds::v1alpha1::BenchmarkRunStatus;
use jiff::Timestamp;
use tracing::info;

use super::action::{Action, Decision};
use super::apply::Applier;
use super::build;
use super::context::Context;
use super::follow_logs::Follower;
use super::kept::Kept;
use super::observe::{self, Current};
use super::observed::PodState;
use super::queue::Again;
use super::reconcile::LookError;
use super::session::{REFUSED_AGAIN, Session, SessionRecords, Written};
use super::status::{self, Frame, Planned};
use super::update_status::Target;
use crate::campaign::status::Phase;
use evaluate::evaluate;

/// Added to a wait, so that the instant has surely passed when it ends.
const SLACK: Duration = Duration::from_millis(20);

/// One look at one run.
pub(super) struct Look<'a> {
    pub(super) context: &'a Arc<Context>,
    pub(super) current: Current<'a>,
    pub(super) session: &'a mut Session,
}

/// What follows.
pub(super) enum Next {
    /// Another decision, at once.
    Again,
    /// The same, of what the API server says of the run's pods.
    Listed(Vec<PodState>),
    /// This look ends.
    Ends(Again),
}

impl Look<'_> {
    /// Persists what the log gave, if it is time, before anything is concluded from it.
    pub(super) async fn persist(&mut self) -> Result<(), LookError> {
        self.persist_with(Follower::take).await
    }

    /// Persists every block that verified: nothing will be read after this.
    async fn persist_rest(&mut self) -> Result<(), LookError> {
        self.persist_with(Follower::take_rest).await
    }

    async fn persist_with(
        &mut self,
        take: impl FnOnce(&Follower) -> Option<Vec<u8>>,
    ) -> Result<(), LookError> {
        let Session {
            follower,
            records,
            evaluation,
            ..
        } = &mut *self.session;
        let (Some(following), SessionRecords::Read { store, collector }) = (&*follower, &mut *records) else {
            return Ok(());
        };
        if let Some(lines) = take(following) {
            if let Err(error) = store.append(self.current.run, &lines).await {
                // It may have been written all the same: what is there is read again, and the log from its first byte.
                *records = match error.is_for_good() {
                    true => SessionRecords::Broken(error.to_string()),
                    false => SessionRecords::Unread,
                };
                *follower = None;
                return match error.is_for_good() {
                    true => Ok(()),
                    false => Err(error.into()),
                };
            }
            collector.feed(&lines);
            *evaluation = None;
            following.persisted();
        }
        if following.state().closed {
            collector.end_of_input();
        }
        Ok(())
    }

    /// Does what was decided.
    pub(super) async fn act(&mut self, decision: Decision) -> Result<Next, LookError> {
        let Decision {
            action,
            phase,
            cleanup_blocked,
        } = decision;
        let blocked = cleanup_blocked.as_deref();
        match action {
            Action::Wait { until } => {
                let kept = self.current.kept();
                self.tell(&kept, phase, blocked).await?;
                Ok(Next::Ends(self.until(until)))
            }
            Action::Keep(kept) => {
                if kept.finished_at.is_some() {
                    self.persist_rest().await?;
                }
                self.tell(&kept, phase, blocked).await?;
                Ok(Next::Again)
            }
            Action::RemoveFinalizer => {
                let version = self.patch_finalizer(false).await?;
                self.finalizer_is(false, version);
                Ok(Next::Ends(Again::OnChange))
            }
            Action::ReadRecords => self.read_records().await,
            Action::Create { attempt, nodes } => self.create(attempt, &nodes).await,
            Action::Prepare { attempt, nodes } => self.prepare(attempt, &nodes).await,
            Action::Follow {
                attempt,
                pod,
                pod_uid,
            } => self.follow(attempt, pod, pod_uid).await,
            Action::Delete { attempt, job_uid } => {
                let name = build::names::attempt(self.current.uid, attempt);
                self.applier().delete(&name, &job_uid).await?;
                self.session.prepared = None;
                info!(run = %self.current.key, job = name, "deleted");
                Ok(Next::Ends(Again::OnChange))
            }
            Action::ListPods => {
                let Current { key, uid, .. } = &self.current;
                let pods = observe::list_pods(&self.context.writer.client, key, uid).await?;
                Ok(Next::Listed(pods))
            }
            Action::DeleteRun => {
                self.applier().delete_run().await?;
                info!(run = %self.current.key, "its time to live is over");
                Ok(Next::Ends(Again::OnChange))
            }
        }
    }

    fn until(&self, until: Option<Timestamp>) -> Again {
        let rest = |until: Timestamp| until.duration_since(Timestamp::now());
        let until = until.map(|until| Duration::try_from(rest(until)).unwrap_or(Duration::ZERO) + SLACK);
        let refused = self
            .session
            .refused
            .as_ref()
            .filter(|(refused, _)| !refused.for_good);
        let refused = refused.map(|_| REFUSED_AGAIN + SLACK);
        match until.into_iter().chain(refused).min() {
            Some(delay) => Again::After(delay),
            None => Again::OnChange,
        }
    }

    fn applier(&self) -> Applier<'_> {
        Applier {
            client: &self.context.writer.client,
            key: self.current.key,
            run_uid: self.current.uid,
        }
    }

    /// Writes what the status says now; nothing where it says the same already.
    async fn tell(
        &mut self,
        kept: &Kept,
        phase: Option<Phase>,
        blocked: Option<&str>,
    ) -> Result<(), LookError> {
        let now = Timestamp::now().to_string();
        let previous = self.current.status.clone();
        let frame = Frame {
            generation: self.current.run.metadata.generation,
            now: &now,
            previous: previous.as_ref(),
            kept,
            cleanup_blocked: blocked,
            warning: self.context.warning,
        };
        let Some(phase) = phase else {
            return self.tell_blocked(&frame).await;
        };
        let run = self.current.run;
        let installation = &self.context.installation;
        let status = match self.session.planned(run, installation) {
            Err(message) => status::refused(&frame, &message),
            Ok((plan, plan_hash)) => {
                let evaluation = evaluate(&self.context.evaluations, self.session, &plan).await?;
                let records = match &self.session.records {
                    SessionRecords::Read { store, .. } => store.reference(),
                    SessionRecords::Empty => None,
                    // What the status has seen stays true, whoever lost it.
                    SessionRecords::Unread | SessionRecords::Broken(_) => {
                        previous.as_ref().and_then(|status| status.records.clone())
                    }
                };
                let planned = Planned {
                    plan: &plan,
                    plan_hash: &plan_hash,
                    evaluation: &evaluation,
                    records,
                };
                status::planned(&frame, planned, phase)
            }
        };
        let target = self.target(&previous);
        let written = self.context.writer.write(&target, &status).await?;
        self.wrote(written, Some(status));
        Ok(())
    }

    /// Writes the condition alone: of a finished run the cache holds only a part of the status.
    async fn tell_blocked(&mut self, frame: &Frame<'_>) -> Result<(), LookError> {
        let Some(before) = frame.previous else {
            return Ok(());
        };
        let conditions = status::blocked(frame, before.conditions.clone());
        let target = self.target(&self.current.status);
        let written = self.context.writer.write_conditions(&target, &conditions).await?;
        let status = BenchmarkRunStatus {
            conditions,
            ..before.clone()
        };
        self.wrote(written, Some(status));
        Ok(())
    }

    fn target<'b>(&'b self, before: &'b Option<BenchmarkRunStatus>) -> Target<'b> {
        Target {
            key: self.current.key,
            uid: self.current.uid,
            version: &self.current.version,
            before: before.as_ref(),
        }
    }

    fn wrote(&mut self, version: Option<String>, status: Option<BenchmarkRunStatus>) {
        let Some(version) = version else { return };
        self.session.written = Some(Box::new(Written {
            version,
            status,
            finalizer: self.current.finalizer,
        }));
    }
}
