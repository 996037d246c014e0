//! What this process knows of a run between two looks and could find out again. Keeps memory small: a run that waits has
//! no plan here, a finished one nothing at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use tokio::time::Instant;

use super::build::Installation;
use super::follow_logs::Follower;
use super::limits;
use super::observed::{AttemptId, CreationRefused};
use super::record_chain::MAX_PLANNED_BYTES;
use super::records::RecordStore;
use super::store::RunKey;
use crate::campaign::Evaluation;
use crate::campaign::collect::Collector;
use crate::campaign::plan::{Plan, estimate, hash, plan};
use crate::campaign::validate::validate;

/// When a creation that was refused is tried again: quotas and policies change without telling us.
pub(super) const REFUSED_AGAIN: Duration = Duration::from_secs(30);

/// The sessions of all runs that are going on.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<RunKey, Arc<tokio::sync::Mutex<Session>>>>);

impl Sessions {
    /// The session of the run with `uid`, a new one where another run had this name.
    pub(super) fn of(&self, key: &RunKey, uid: &str) -> Arc<tokio::sync::Mutex<Session>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.get(key).filter(|session| {
            // One look at a time: nobody else holds it.
            session.try_lock().is_ok_and(|session| session.uid == uid)
        });
        if let Some(found) = found {
            return Arc::clone(found);
        }
        let new = Arc::new(tokio::sync::Mutex::new(Session::new(uid)));
        all.insert(key.clone(), Arc::clone(&new));
        new
    }

    pub(super) fn forget(&self, key: &RunKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// What is known of one run.
pub(super) struct Session {
    pub(super) uid: String,
    /// Blocks of each leg, or why there is no plan; and the plan's hash.
    pub(super) legs: Option<Result<(Vec<u32>, String), String>>,
    /// The plan, as long as something is measured.
    pub(super) plan: Option<Arc<Plan>>,
    /// The records that are persisted.
    pub(super) records: SessionRecords,
    /// What they say, as far as it was computed.
    pub(super) evaluation: Option<Arc<Evaluation>>,
    pub(super) follower: Option<Box<Follower>>,
    /// What this process wrote last, while the cache may not show it yet.
    pub(super) written: Option<Box<Written>>,
    /// The last attempt whose ConfigMap and Service this process has created.
    pub(super) prepared: Option<AttemptId>,
    /// The last creation that the cluster refused, and when.
    pub(super) refused: Option<(CreationRefused, Instant)>,
}

/// The records of a run.
pub(super) enum SessionRecords {
    Unread,
    /// There are none yet. What reads them knows every block of the plan, which a run that waits need not keep.
    Empty,
    Read {
        store: Box<RecordStore>,
        collector: Box<Collector>,
    },
    Broken(String),
}

/// A run as this process left it.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// Its version.
    pub(super) version: String,
    /// Its status.
    pub(super) status: Option<BenchmarkRunStatus>,
    /// Whether it has our finalizer.
    pub(super) finalizer: bool,
}

impl Session {
    pub(super) fn new(uid: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            legs: None,
            plan: None,
            records: SessionRecords::Unread,
            evaluation: None,
            follower: None,
            written: None,
            prepared: None,
            refused: None,
        }
    }

    /// Blocks of each leg and the hash of the plan, or why there is none.
    pub(super) fn legs(
        &mut self,
        run: &BenchmarkRun,
        installation: &Installation,
    ) -> Result<(Vec<u32>, String), String> {
        if let Some(legs) = &self.legs {
            return legs.clone();
        }
        let legs = self.plan(run, installation).map(|plan| {
            let blocks = plan.legs.iter().map(|leg| {
                let blocks: usize = leg.rounds.iter().map(|round| round.blocks.len()).sum();
                u32::try_from(blocks).unwrap_or(u32::MAX)
            });
            (blocks.collect(), hash(&plan))
        });
        self.legs.insert(legs).clone()
    }

    /// The plan of the run and its hash, or why there is none here: names the field and what to do.
    pub(super) fn planned(
        &mut self,
        run: &BenchmarkRun,
        installation: &Installation,
    ) -> Result<(Arc<Plan>, String), String> {
        let (_, hash) = self.legs(run, installation)?;
        Ok((self.plan(run, installation)?, hash))
    }

    fn plan(&mut self, run: &BenchmarkRun, installation: &Installation) -> Result<Arc<Plan>, String> {
        if let Some(plan) = &self.plan {
            return Ok(Arc::clone(plan));
        }
        if let Some(refusal) = limits::refusal(run, installation) {
            return Err(refusal);
        }
        let validated = validate(run).map_err(|problems| problems.to_string())?;
        let planned = plan(&validated).map_err(|error| error.to_string())?;
        let bytes = estimate(&planned).stream_bytes;
        if bytes > MAX_PLANNED_BYTES {
            return Err(format!(
                "its records would have about {bytes} bytes, more than {MAX_PLANNED_BYTES} in a cluster. Ask for fewer \
                 rounds, sizes, variants or workers, or split the run"
            ));
        }
        Ok(Arc::clone(self.plan.insert(Arc::new(planned))))
    }

    /// The refusal that still stands in the way.
    pub(super) fn refusal(&mut self) -> Option<CreationRefused> {
        self.refused
            .take_if(|(refused, at)| !refused.for_good && at.elapsed() >= REFUSED_AGAIN);
        self.refused.as_ref().map(|(refused, _)| refused.clone())
    }

    /// Drops what can be made again and is not needed before something changes.
    pub(super) fn rest(&mut self) {
        if self.follower.is_none() {
            self.plan = None;
            self.evaluation = None;
        }
    }
}
