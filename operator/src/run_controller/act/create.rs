//! Creates what an attempt consists of, in the order in which it is needed. I/O.

use std::time::Duration;

use futures::future::OptionFuture;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{Look, Next};
use crate::run_controller::apply::ApplyError;
use crate::run_controller::build::{self, Attempt, AttemptObjects, Needs};
use crate::run_controller::observed::{AttemptId, CreationRefused};
use crate::run_controller::queue::Again;
use crate::run_controller::reconcile::LookError;
use crate::run_controller::session::SessionRecords;
use crate::run_controller::store::{self, Child};

impl Look<'_> {
    /// Creates the Job; before it what its pods need, but where a queue holds them back. All of it is built in any case: what
    /// does not fit an object is refused before there is a Job.
    pub(super) async fn create(&mut self, id: AttemptId, nodes: &[String]) -> Result<Next, LookError> {
        let (AttemptObjects { needs, job }, plan_hash) = match self.objects(id, nodes) {
            Ok(objects) => objects,
            Err(next) => return Ok(next),
        };
        // A gang has its place in a queue from its Job on, and has pods only when the queue admits it.
        let queued = job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
        if !queued && let Some(next) = self.create_needs(id, &needs, &plan_hash).await? {
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
            return Ok(Next::Ends(match queued {
                // The first Jobs of others come before the rest of this one.
                true => Again::AfterOthers,
                false => Again::After(Duration::ZERO),
            }));
        }
        Ok(Next::Ends(Again::OnChange))
    }

    /// Creates what the pods of a Job need that is there.
    pub(super) async fn prepare(&mut self, id: AttemptId, nodes: &[String]) -> Result<Next, LookError> {
        let (AttemptObjects { needs, .. }, plan_hash) = match self.objects(id, nodes) {
            Ok(objects) => objects,
            Err(next) => return Ok(next),
        };
        let other = self.create_needs(id, &needs, &plan_hash).await?;
        Ok(other.unwrap_or(Next::Again))
    }

    /// Adds the finalizer where it is missing and creates the Service, then the ConfigMap: no worker starts without it, so
    /// none is there that the run would not outlive, or that could not meet others. Gives what follows where that failed.
    async fn create_needs(
        &mut self,
        id: AttemptId,
        Needs { service, config_map }: &Needs,
        plan_hash: &str,
    ) -> Result<Option<Next>, LookError> {
        let missing = !self.current.finalizer;
        let applier = self.applier();
        let (service, finalizer) = futures::join!(
            applier.create_one(service, plan_hash),
            OptionFuture::from(missing.then(|| self.patch_finalizer(true))),
        );
        match finalizer.transpose()? {
            // The run is gone.
            Some(None) => return Ok(Some(Next::Ends(Again::OnChange))),
            Some(version) => self.finalizer_is(true, version),
            None => {}
        }
        let created = match service {
            Ok(_) => self.applier().create_one(config_map, plan_hash).await.map(drop),
            Err(error) => Err(error),
        };
        match created {
            Ok(()) => {
                self.session.refused = None;
                self.session.prepared = Some(id);
                Ok(None)
            }
            Err(error) => self.not_created(error).map(Some),
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
}
