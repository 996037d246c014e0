//! One reconciliation of one run: a loop of steps that ends when no actions are left. Performs I/O.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crds::v1alpha1::BenchmarkRun;
use tracing::{Instrument, debug, info_span, warn};

use super::analyze::update_legs;
use super::context::Context;
use super::decide::decide;
use super::error::ReconcileError;
use super::execute::{Reconciler, StepResult};
use super::observe::{self, Live};
use super::queue::Requeue;
use super::reserve;
use super::session::Session;
use super::snapshot::RunSnapshot;
use super::store::{CachedRun, RunKey};
use super::unreadable;
use super::update_status::RunVersion;
use crate::events;

/// Maximum number of actions for one run in one reconciliation. The remaining actions follow in the next
/// reconciliation, after other runs have had a slot.
const MAX_STEPS: usize = 16;
/// Delay before the next reconciliation of a run that needed more than [`MAX_STEPS`] actions.
const MAX_STEPS_DELAY: Duration = Duration::from_millis(100);

/// Reconciles the run `key`, and reports a failure in the metrics, the log and an event.
pub(super) async fn reconcile(context: Arc<Context>, key: RunKey) -> Requeue {
    let span = info_span!("reconcile", run = %key);
    async {
        let started = Instant::now();
        let result = reconcile_key(&context, &key).await;
        let category = result.as_ref().err().map(ReconcileError::category);
        context.metrics.record_reconciliation(started.elapsed(), category);
        match result {
            Ok(requeue) => requeue,
            // No event is published, because the concurrent change enqueues the run again.
            Err(error) if error.is_conflict() => {
                debug!(%error, "the run was changed during its reconciliation");
                Requeue::Backoff
            }
            Err(error) => {
                warn!(%error, "reconciliation failed and will be retried");
                report_failure(&context, &key, &error).await;
                Requeue::Backoff
            }
        }
    }
    .instrument(span)
    .await
}

/// Publishes an event for a failed reconciliation, and releases the nodes reserved for the gang that the run was unable
/// to create.
async fn report_failure(context: &Context, key: &RunKey, error: &ReconcileError) {
    let Some(cached) = context.runs.get(key) else {
        return;
    };
    reserve::register_existing_gang(context, &cached, context.clock.now());
    let (uid, resource_version) = cached.uid_and_version();
    let version = RunVersion {
        key,
        uid: uid.unwrap_or_default(),
        resource_version: resource_version.unwrap_or_default(),
        status: None,
    };
    let event = events::reconcile_failed(error.category().as_str(), &error.to_string());
    context.writer.publish(&version, &[event]).await;
}

async fn reconcile_key(context: &Arc<Context>, key: &RunKey) -> Result<Requeue, ReconcileError> {
    match context.runs.get(key) {
        None => {
            context.forget(key);
            Ok(Requeue::AwaitChange)
        }
        Some(CachedRun::Unreadable(object)) => unreadable::reconcile(context, key, &object).await,
        Some(CachedRun::Run(run, _)) => {
            let run = run
                .unpack()
                .map_err(|message| ReconcileError::Unpack { message })?;
            reconcile_run(context, key, &run).await
        }
    }
}

async fn reconcile_run(
    context: &Arc<Context>,
    key: &RunKey,
    run: &BenchmarkRun,
) -> Result<Requeue, ReconcileError> {
    let uid = run.metadata.uid.as_deref().unwrap_or_default();
    let session = context.sessions.get_or_create(key, uid);
    let mut session = session.lock().await;
    let result = reconcile_steps(context, key, run, uid, &mut session).await;
    session.shrink();
    let snapshot = RunSnapshot::latest(key, run, uid, &mut session);
    let finished = snapshot.persisted().finished_at.is_some();
    let cache_is_behind = session.last_write.is_some();
    drop(session);
    if finished && !cache_is_behind {
        context.sessions.forget(key);
    }
    result
}

async fn reconcile_steps(
    context: &Arc<Context>,
    key: &RunKey,
    run: &BenchmarkRun,
    uid: &str,
    session: &mut Session,
) -> Result<Requeue, ReconcileError> {
    let mut live = Live::default();
    for _ in 0..MAX_STEPS {
        let snapshot = RunSnapshot::latest(key, run, uid, session);
        let mut reconciler = Reconciler {
            context,
            snapshot,
            session,
        };
        reconciler.persist_records().await?;
        reconciler.session.expire_rejection();
        if reconciler.snapshot.persisted().finished_at.is_none() {
            update_legs(context, run, reconciler.session).await?;
        }
        let policy = observe::run_policy(&reconciler.snapshot, reconciler.session);
        let observed = observe::observe(
            context,
            &reconciler.snapshot,
            reconciler.session,
            std::mem::take(&mut live),
        );
        reconciler.session.notify_follower(&observed.pods);
        // Several turns may begin in the same second.
        let exact = context.clock.now();
        let reservation = reserve::reserve(context, &reconciler.snapshot, &observed, exact);
        let decision = decide(&policy, &observed, &reservation, context.now());
        debug!(action = ?decision.action, "decided");
        match reconciler.execute(decision).await? {
            StepResult::Continue => {}
            StepResult::Listed(objects) => live = objects,
            StepResult::Done(requeue) => return Ok(requeue),
        }
    }
    Ok(Requeue::After(MAX_STEPS_DELAY))
}
