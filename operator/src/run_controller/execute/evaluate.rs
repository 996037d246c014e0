//! Evaluates the records of a run on a blocking thread, so that other runs are not delayed. Performs no I/O.

use std::sync::Arc;

use campaign::collect::Reports;
use campaign::plan::HashedPlan;
use campaign::{self, Evaluation};
use tokio::sync::Semaphore;

use crate::run_controller::error::ReconcileError;
use crate::run_controller::session::{Session, SessionRecords};

/// Returns the evaluation of the persisted records, computing it only if the session does not already hold it. `slots`
/// limits the number of concurrent computations.
pub(super) async fn evaluate(
    slots: &Semaphore,
    session: &mut Session,
    plan: &Arc<HashedPlan>,
) -> Result<Arc<Evaluation>, ReconcileError> {
    if let Some(evaluation) = &session.evaluation {
        return Ok(Arc::clone(evaluation));
    }
    let failed = |message: String| ReconcileError::Evaluate { message };
    let records = std::mem::replace(&mut session.records, SessionRecords::Unread);
    let evaluated = match records {
        SessionRecords::Read { store, collector } => {
            let plan = Arc::clone(plan);
            // This cannot fail, because the semaphore is never closed.
            let _slot = slots.acquire().await.ok();
            let computed = tokio::task::spawn_blocking(move || {
                let evaluated = campaign::evaluate(&plan, collector.reports());
                (evaluated, collector)
            });
            // If the evaluation panics, the collector is lost, so the records are read again.
            let (evaluated, collector) = computed.await.map_err(|error| failed(error.to_string()))?;
            session.records = SessionRecords::Read { store, collector };
            evaluated
        }
        // Without records, the evaluation is so cheap that it needs neither a slot nor a blocking thread.
        other => {
            session.records = other;
            campaign::evaluate(plan, &Reports::default())
        }
    };
    let evaluation = Arc::new(evaluated.map_err(|error| failed(error.to_string()))?);
    session.evaluation = Some(Arc::clone(&evaluation));
    Ok(evaluation)
}
