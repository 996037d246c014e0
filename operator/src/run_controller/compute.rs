//! Performs computations on a run's records on a blocking thread, so that other runs are not delayed. Performs no I/O.

use std::sync::Arc;

use campaign::collect::Reports;
use campaign::plan::HashedPlan;
use campaign::stats::StatsError;
use tokio::sync::Semaphore;

use super::error::ReconcileError;
use super::session::{Session, SessionRecords};

/// Returns the result of `computation` on the persisted records. `slots` limits the number of concurrent computations.
///
/// # Errors
/// Returns an error if `computation` panics. The session must then read the records again.
pub(super) async fn compute<T: Send + 'static>(
    slots: &Semaphore,
    session: &mut Session,
    plan: &Arc<HashedPlan>,
    computation: impl FnOnce(&HashedPlan, &Reports) -> Result<T, StatsError> + Send + 'static,
) -> Result<Result<T, StatsError>, ReconcileError> {
    let records = std::mem::replace(&mut session.records, SessionRecords::Unread);
    let SessionRecords::Read { store, collector } = records else {
        session.records = records;
        // Without records, the computation is so cheap that it needs neither a slot nor a blocking thread.
        return Ok(computation(plan, &Reports::default()));
    };
    let plan = Arc::clone(plan);
    // This cannot fail, because the semaphore is never closed.
    let _slot = slots.acquire().await.ok();
    let computed = tokio::task::spawn_blocking(move || {
        let result = computation(&plan, collector.reports());
        (result, collector)
    });
    let (result, collector) = computed.await.map_err(|error| ReconcileError::Evaluate {
        message: error.to_string(),
    })?;
    session.records = SessionRecords::Read { store, collector };
    Ok(result)
}
