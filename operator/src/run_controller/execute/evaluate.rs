//! Evaluates the records of a run. Performs no I/O.

use std::sync::Arc;

use campaign::Evaluation;
use campaign::plan::HashedPlan;
use tokio::sync::Semaphore;

use crate::run_controller::compute::compute;
use crate::run_controller::error::ReconcileError;
use crate::run_controller::session::Session;

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
    let evaluated = compute(slots, session, plan, |plan, reports| {
        campaign::evaluate(plan, reports)
    })
    .await?;
    let evaluation = Arc::new(evaluated.map_err(|error| ReconcileError::Evaluate {
        message: error.to_string(),
    })?);
    session.evaluation = Some(Arc::clone(&evaluation));
    Ok(evaluation)
}
