//! Performs the analyses of a run and determines the blocks that each of its legs needs. Performs no I/O.

use campaign::collect::Reports;
use campaign::stopping::Stopping;
use campaign::{advance, is_due};
use crds::v1alpha1::BenchmarkRun;

use super::compute::compute;
use super::context::Context;
use super::error::ReconcileError;
use super::session::{PlannedLegs, Session};

/// Stores the blocks that each leg needs, or the reason that the run has no plan, in the session. First performs every
/// analysis for which all records are persisted.
///
/// # Errors
/// Returns an error if the computation thread panics.
pub(super) async fn update_legs(
    context: &Context,
    run: &BenchmarkRun,
    session: &mut Session,
) -> Result<(), ReconcileError> {
    let blocks_done = session.reports().map_or(0, Reports::blocks_done);
    let mut stopping = match session.legs.take() {
        Some(Ok(legs)) if legs.is_outdated(blocks_done) => legs.stopping,
        None => Stopping::default(),
        current => {
            session.legs = current;
            return Ok(());
        }
    };
    let plan = match session.plan(run, &context.config) {
        Ok(plan) => plan,
        Err(message) => {
            session.legs = Some(Err(message));
            return Ok(());
        }
    };
    let no_records = Reports::default();
    if is_due(&stopping, &plan, session.reports().unwrap_or(&no_records)) {
        let analyzed = compute(&context.evaluations, session, &plan, |plan, reports| {
            advance(&mut stopping, plan, reports).map(|()| stopping)
        });
        stopping = match analyzed.await? {
            Ok(stopping) => stopping,
            Err(error) => {
                session.legs = Some(Err(error.to_string()));
                return Ok(());
            }
        };
    }
    let reports = session.reports().unwrap_or(&no_records);
    session.legs = Some(Ok(PlannedLegs {
        blocks: stopping.blocks_by_leg(&plan, reports),
        plan_hash: plan.hash().to_owned(),
        stopping,
        has_several_analyses: plan.analyses.len() > 1,
        blocks_done,
    }));
    Ok(())
}
