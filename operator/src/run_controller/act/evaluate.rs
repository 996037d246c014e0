//! What the records say so far, computed where it holds up nobody. Uses a thread; no other I/O.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::campaign::collect::Reports;
use crate::campaign::plan::Plan;
use crate::campaign::{self, Evaluation};
use crate::run_controller::reconcile::LookError;
use crate::run_controller::session::{Session, SessionRecords};

/// The evaluation of the records that are persisted; computed only when records came since the last time.
/// At most as many are computed at a time as `slots` has.
pub(super) async fn evaluate(
    slots: &Semaphore,
    session: &mut Session,
    plan: &Arc<Plan>,
) -> Result<Arc<Evaluation>, LookError> {
    if let Some(evaluation) = &session.evaluation {
        return Ok(Arc::clone(evaluation));
    }
    let failed = |message: String| LookError::Evaluate { message };
    let records = std::mem::replace(&mut session.records, SessionRecords::Unread);
    let evaluated = match records {
        SessionRecords::Read { store, collector } => {
            let plan = Arc::clone(plan);
            // It is never closed.
            let _slot = slots.acquire().await.ok();
            let computed = tokio::task::spawn_blocking(move || {
                let evaluated = campaign::evaluate(&plan, collector.reports());
                (evaluated, collector)
            });
            // Records that a panic took along are read again.
            let (evaluated, collector) = computed.await.map_err(|error| failed(error.to_string()))?;
            session.records = SessionRecords::Read { store, collector };
            evaluated
        }
        // Without records there is nothing to compute that would take time.
        other => {
            session.records = other;
            campaign::evaluate(plan, &Reports::default())
        }
    };
    let evaluation = Arc::new(evaluated.map_err(|error| failed(error.to_string()))?);
    session.evaluation = Some(Arc::clone(&evaluation));
    Ok(evaluation)
}
