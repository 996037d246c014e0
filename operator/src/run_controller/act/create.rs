//! Creates what an attempt consists of, in the order in which it is needed. I/O.

use tokio::time::Instant;
use tracing::{info, warn};

use super::{Look, Next};
use crate::run_controller::apply::ApplyError;
use crate::run_controller::build::{self, Attempt, AttemptObjects, Needs};
use crate::run_controller::observed::{AttemptId, CreationRefused};
use crate::run_controller::queue::Again;
use crate::run_controller::reconcile::LookError;
use crate::run_controller::session::{SessionRecords, Written};
use crate::run_controller::store::{self, Child};

impl Look<'_> {
    /// Creates the Job; before it what its pods need, but where a queue holds them back.
    pub(super) async fn create(&mut self, id: AttemptId, nodes: &[String]) -> Result<Next, LookError> {
        let (AttemptObjects { needs, job }, plan_hash) = match self.objects(id, nodes) {
            Ok(objects) => objects,
            Err(next) => return Ok(next),
        };
        // A gang has its place in a queue from its Job on, and has pods only when the queue admits it.
        if job.spec.as_ref().and_then(|spec| spec.suspend) != Some(true)
            && let Err(next) = self.provide(id, needs, &plan_hash).await?
        {
            return Ok(next);
        }
        let job = match self.applier().create_one(&job, &plan_hash).await {
            Ok(job) => job,
            Err(error) => return self.not_created(error),
        };
        info!(run = %self.current.key, leg = id.leg, attempt = id.attempt, "created the Job");
        self.session.refused = None;
        // Of a run without an attempt that is remembered there are no records to be read.
        if self.current.kept().attempts.is_empty() && matches!(self.session.records, SessionRecords::Unread) {
            self.session.records = SessionRecords::Empty;
        }
        if let Some((key, Child { run, state })) = store::job(&job) {
            let scope = self.context.scope_of(&run.namespace);
            self.context.jobs.put_new(scope, key, Child { run, state });
            // The first Jobs of others come before the rest of this one.
            return Ok(Next::Ends(Again::AfterOthers));
        }
        Ok(Next::Ends(Again::OnChange))
    }

    /// Creates what the pods of a Job need that is there.
    pub(super) async fn prepare(&mut self, id: AttemptId, nodes: &[String]) -> Result<Next, LookError> {
        let (AttemptObjects { needs, .. }, plan_hash) = match self.objects(id, nodes) {
            Ok(objects) => objects,
            Err(next) => return Ok(next),
        };
        match self.provide(id, needs, &plan_hash).await? {
            Ok(()) => {
                self.session.refused = None;
                Ok(Next::Again)
            }
            Err(next) => Ok(next),
        }
    }

    /// Adds the finalizer where it is missing, then creates what workers cannot start without: none runs of a run that
    /// could go before them.
    async fn provide(
        &mut self,
        id: AttemptId,
        needs: Needs,
        plan_hash: &str,
    ) -> Result<Result<(), Next>, LookError> {
        if !self.current.finalizer {
            let Some(version) = self.patch_finalizer(true).await? else {
                // The run is gone.
                return Ok(Err(Next::Ends(Again::OnChange)));
            };
            self.finalizer_is(true, Some(version));
        }
        match self.applier().prepare(&needs, plan_hash).await {
            Ok(()) => {
                self.session.prepared = Some(id);
                Ok(Ok(()))
            }
            Err(error) => self.not_created(error).map(Err),
        }
    }

    /// The objects of an attempt and the hash of their plan, or what follows where there are none.
    fn objects(&mut self, id: AttemptId, nodes: &[String]) -> Result<(AttemptObjects, String), Next> {
        let run = self.current.run;
        let installation = &self.context.installation;
        let Ok((plan, plan_hash)) = self.session.planned(run, installation) else {
            self.session.legs = None;
            return Err(Next::Again);
        };
        let none = Default::default();
        let done = match &self.session.records {
            SessionRecords::Read { collector, .. } => collector.reports().done.get(&id.leg),
            SessionRecords::Unread | SessionRecords::Empty | SessionRecords::Broken(_) => None,
        };
        let Some(leg) = plan.legs.iter().find(|leg| leg.leg == id.leg) else {
            return Err(Next::Ends(Again::Backoff));
        };
        let built = build::attempt(&Attempt {
            run,
            plan: &plan,
            plan_hash: &plan_hash,
            leg,
            id,
            done: done.unwrap_or(&none),
            nodes,
            single_zone: run.spec.placement.single_zone && self.context.zoned(run, nodes),
            installation,
        });
        match built {
            Ok(objects) => Ok((objects, plan_hash)),
            Err(error) => Err(self.refused(error.to_string(), true)),
        }
    }

    fn not_created(&mut self, error: ApplyError) -> Result<Next, LookError> {
        match error {
            ApplyError::Foreign { .. } => Ok(self.refused(error.to_string(), true)),
            ApplyError::Refused { for_good, .. } => Ok(self.refused(error.to_string(), for_good)),
            ApplyError::Api { .. } => Err(error.into()),
        }
    }

    fn refused(&mut self, message: String, for_good: bool) -> Next {
        warn!(run = %self.current.key, for_good, "{message}");
        let refused = CreationRefused { message, for_good };
        self.session.refused = Some((refused, Instant::now()));
        Next::Again
    }

    /// Adds or removes the finalizer. Gives the new version of the run; `None` where it is gone.
    pub(super) async fn patch_finalizer(&self, present: bool) -> Result<Option<String>, ApplyError> {
        let finalizers = self.current.run.metadata.finalizers.clone().unwrap_or_default();
        self.applier()
            .finalizer(present, &finalizers, &self.current.version)
            .await
    }

    pub(super) fn finalizer_is(&mut self, present: bool, version: Option<String>) {
        let Some(version) = version else { return };
        self.session.written = Some(Box::new(Written {
            version,
            status: self.current.status.clone(),
            finalizer: present,
        }));
    }
}
