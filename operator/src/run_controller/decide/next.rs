//! What comes when no attempt is going on: the next one, or what it waits for. Pure.

use std::time::Duration;

use jiff::Timestamp;

use super::waiting::Waiting;
use super::{LIST_AGAIN, Pass, cleanup, earliest, ledger};
use crate::campaign::status::Phase;
use crate::run_controller::action::{Action, Decision};
use crate::run_controller::observed::{AttemptId, JobState, Preflight};
use crds::v1alpha1::Reason;

/// What comes next for a run with missing blocks, of `leg` first, without an attempt that is going on.
pub(super) fn next(pass: &Pass<'_>, leg: u32) -> Decision {
    let observed = pass.observed;
    let kept = &observed.kept;
    if let Some(job) = observed.jobs.iter().find(|job| !job.deleting) {
        return pass.decision(cleanup::delete(job), None);
    }
    if observed.suspend {
        return suspended(pass);
    }
    if kept.suspended {
        let phase = Phase::Pending {
            reason: Reason::PodsStarting,
            message: "the run goes on with the blocks that are missing".to_owned(),
        };
        return pass.keep(ledger::resumed(pass), phase);
    }
    if let Some(given_up) = refused_for_good(pass) {
        return given_up;
    }
    match obstacle(pass) {
        Obstacle::Waiting(waiting) => wait(pass, &waiting),
        Obstacle::Look => pass.decision(Action::ListPods, None),
        Obstacle::None => {
            let attempt = AttemptId {
                leg,
                attempt: kept.last_attempt(leg).saturating_add(1),
            };
            let nodes = kept.nodes.clone();
            pass.decision(Action::Create { attempt, nodes }, None)
        }
    }
}

/// The Job of the next attempt is there: what its pods need comes next.
pub(super) fn prepare(pass: &Pass<'_>, job: &JobState) -> Decision {
    if let Some(given_up) = refused_for_good(pass) {
        return given_up;
    }
    match &pass.observed.refused {
        Some(refused) if job.suspended => wait(pass, &Waiting::for_creation(refused)),
        Some(refused) => {
            let (kept, phase) = ledger::begun_and_refused(pass, job, &refused.message);
            pass.keep(kept, phase)
        }
        None => {
            let prepare = Action::Prepare {
                attempt: job.attempt,
                nodes: pass.observed.kept.nodes.clone(),
            };
            pass.decision(prepare, None)
        }
    }
}

fn refused_for_good(pass: &Pass<'_>) -> Option<Decision> {
    let refused = pass.observed.refused.as_ref();
    let refused = refused.filter(|refused| refused.for_good)?;
    let (kept, phase) = ledger::given_up(pass, Reason::FailedCreate, &refused.message);
    Some(pass.keep(kept, phase))
}

enum Obstacle {
    None,
    /// Only a read past every cache tells.
    Look,
    Waiting(Waiting),
}

/// What stands in the way of the next attempt, the nearest first.
fn obstacle(pass: &Pass<'_>) -> Obstacle {
    let observed = pass.observed;
    let pods: Vec<_> = observed.pods.iter().collect();
    let pods = cleanup::left(pass, &pods);
    let leaving = |message: String, until| {
        Obstacle::Waiting(Waiting {
            until,
            ..Waiting::new(Reason::PodsTerminating, message)
        })
    };
    if let Some(pod) = pods.first() {
        let until = cleanup::overdue(pass, &pods);
        return leaving(
            format!("{} pods are leaving, {} first", pods.len(), pod.name),
            until,
        );
    }
    if !observed.jobs.is_empty() {
        return leaving("the Job of the attempt before is leaving".to_owned(), None);
    }
    if observed.stream.as_ref().is_some_and(|stream| !stream.closed) {
        return leaving("the log of the attempt before is still read".to_owned(), None);
    }
    if let Some(refused) = &observed.refused {
        return Obstacle::Waiting(Waiting::for_creation(refused));
    }
    if let Preflight::Refused(message) = &observed.preflight {
        return Obstacle::Waiting(Waiting::new(Reason::InsufficientNodes, message.clone()));
    }
    if let Some(ahead) = &observed.ahead {
        return Obstacle::Waiting(Waiting::new(
            Reason::WaitingForNodes,
            format!("the gang of {ahead} comes first on these nodes"),
        ));
    }
    // Only a run that had an attempt can have pods. A cache that shows none proves nothing.
    match &observed.listed {
        _ if observed.kept.attempts.is_empty() => Obstacle::None,
        None => Obstacle::Look,
        Some(listed) => {
            let listed: Vec<_> = listed.iter().collect();
            match cleanup::left(pass, &listed).is_empty() {
                true => Obstacle::None,
                false => leaving(
                    format!("{} pods are still there", listed.len()),
                    pass.after(LIST_AGAIN),
                ),
            }
        }
    }
}

fn suspended(pass: &Pass<'_>) -> Decision {
    if !pass.observed.kept.suspended {
        return pass.keep(ledger::suspended(pass), Phase::Suspended);
    }
    let pods: Vec<_> = pass.observed.pods.iter().collect();
    let until = cleanup::overdue(pass, &pods);
    pass.decision(Action::Wait { until }, Some(Phase::Suspended))
}

/// Waits, at most as long as a run may be without a gang that runs. A queue and other runs take their time.
pub(super) fn wait(pass: &Pass<'_>, waiting: &Waiting) -> Decision {
    if waiting.is_in_line() {
        return match pass.observed.kept.pending_since {
            Some(_) => pass.keep(ledger::in_line(pass), waiting.phase()),
            None => pass.decision(Action::Wait { until: waiting.until }, Some(waiting.phase())),
        };
    }
    let Some(since) = pass.observed.kept.pending_since else {
        // From the status on the clock runs, also over a restart.
        let mut kept = pass.observed.kept.clone();
        kept.pending_since = Some(pass.now);
        return pass.keep(kept, waiting.phase());
    };
    let limit = pass.facts.pending_deadline_seconds;
    let deadline: Option<Timestamp> = since.checked_add(Duration::from_secs(limit.into())).ok();
    if deadline.is_some_and(|deadline| deadline <= pass.now) {
        let message = format!(
            "no gang ran for {limit} s (runPolicy.pendingDeadlineSeconds): {}: {}",
            waiting.reason.as_str(),
            waiting.message
        );
        let (kept, phase) = ledger::given_up(pass, Reason::PendingDeadlineExceeded, &message);
        return pass.keep(kept, phase);
    }
    let until = earliest(waiting.until, deadline);
    pass.decision(Action::Wait { until }, Some(waiting.phase()))
}
