//! The placement requests of all runs in progress, and the turns of their namespaces. [`super::admission`] decides the
//! order. Performs no I/O.
//!
//! An admitted run is in the `Placing` stage from the time it is admitted, even before its Job exists. Only one process
//! is active at a time, and it registers every run before its first action, so this state need not survive a restart:
//! the times of the last turns and of lost places are in the statuses.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::admission::{
    MANY_AHEAD, PLACE_TIMEOUT, PlacementRequest, PlacementStage, Standing, Turns, next_in_turn, standing,
};
use super::store::RunKey;

/// Time after which the turn of a namespace is forgotten. The order of namespaces that have not had a turn for so long
/// does not depend on their turns.
const TURN_MEMORY: Duration = Duration::from_secs(24 * 3600);

/// What the other runs mean for one run. The texts do not identify runs in other namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reservation {
    /// Why the run must not create its gang yet.
    pub blocked_by: Option<String>,
    /// A run whose placed gang occupies nodes that this run's gang could use. Set only while this run's gang is being
    /// placed.
    pub competing_run: Option<String>,
    /// Set if the gang must give up its place: the time that it spent without progress.
    pub lost_after: Option<Duration>,
    /// Time at which the reservation may change even if no other run changes.
    pub until: Option<Timestamp>,
}

/// The latest placement request of every run in progress.
#[derive(Debug, Default)]
pub(super) struct Reservations(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    requests: BTreeMap<RunKey, PlacementRequest>,
    turns: Turns,
}

impl Reservations {
    /// Registers a run's request at `now`, and admits the run if it requests a gang and nothing blocks it. Also returns
    /// the other runs whose reservation may have changed as a result.
    pub(super) fn register(
        &self,
        mut request: PlacementRequest,
        now: Timestamp,
    ) -> (Reservation, Vec<RunKey>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.requests.get(&request.run).cloned();
        if let Some(turn) = request.last_turn {
            state.note_turn(&request.run.namespace, turn, now);
        }
        if let Some(before) = before.as_ref().filter(|before| before.uid == request.uid) {
            keep_turn(before, &mut request, now);
        }
        let mut standing = standing(&request, state.requests.values(), &state.turns, now);
        let may_create = standing.precedes.is_none() && standing.occupies.is_none();
        if request.stage == PlacementStage::Requesting && may_create {
            request.stage = PlacementStage::Placing;
            request.progress_at = now;
            standing.until = None;
        }
        let reservation = describe(&request, &standing);
        let started_placing = request.stage == PlacementStage::Placing
            && before
                .as_ref()
                .is_none_or(|before| before.stage != PlacementStage::Placing);
        if started_placing {
            state.note_turn(&request.run.namespace, now, now);
        }
        let affected = state.replace(before, request, now);
        (reservation, affected)
    }

    /// Removes a finished or deleted run's request at `now`. Returns the runs that may be admitted as a result.
    pub(super) fn release(&self, key: &RunKey, now: Timestamp) -> Vec<RunKey> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.requests.remove(key) {
            Some(_) => state.waiting_runs(key, now),
            None => Vec::new(),
        }
    }
}

impl State {
    fn note_turn(&mut self, namespace: &str, turn: Timestamp, now: Timestamp) {
        self.turns
            .retain(|_, turn| turn.checked_add(TURN_MEMORY).is_ok_and(|end| end > now));
        let last = self.turns.entry(namespace.to_owned()).or_insert(turn);
        *last = turn.max(*last);
    }

    /// Stores `request` in place of `before`. Returns the runs whose reservation may have changed as a result.
    fn replace(
        &mut self,
        before: Option<PlacementRequest>,
        request: PlacementRequest,
        now: Timestamp,
    ) -> Vec<RunKey> {
        let key = request.run.clone();
        let stage_before = before
            .as_ref()
            .map_or(PlacementStage::Idle, |before| before.stage);
        let unblocks = before
            .as_ref()
            .is_some_and(|before| unblocks_others(before, &request));
        // A run that starts to wait may cause others to lose their places.
        let contends = matches!(
            request.stage,
            PlacementStage::Requesting | PlacementStage::Placing
        );
        let contends = contends && stage_before != request.stage;
        if let Some(before) = before.filter(|before| gave_up_nodes(before, &request)) {
            self.note_progress(&before, now);
        }
        match request.stage {
            PlacementStage::Idle => self.requests.remove(&key),
            _ => self.requests.insert(key.clone(), request),
        };
        match unblocks || contends {
            true => self.waiting_runs(&key, now),
            false => Vec::new(),
        }
    }

    /// Gives the gangs that are partly placed time to use the nodes of `released`.
    fn note_progress(&mut self, released: &PlacementRequest, now: Timestamp) {
        for other in self.requests.values_mut() {
            let usable = other.candidate_nodes.as_ref();
            let uses = usable.is_none_or(|usable| !usable.is_disjoint(&released.pod_nodes));
            let is_half_placed = other.stage == PlacementStage::Placing && !other.pod_nodes.is_empty();
            if is_half_placed && !other.lacks_pods && uses {
                other.progress_at = other.progress_at.max(now);
            }
        }
    }

    /// Returns the runs other than `except` that may have the next turns, and those that could lose their place. A gang whose
    /// pods have a node and that still has time to start is reconciled when this time ends.
    fn waiting_runs(&self, except: &RunKey, now: Timestamp) -> Vec<RunKey> {
        let next = next_in_turn(self.requests.values(), &self.turns, now);
        let could_lose_place = self.requests.values().filter(|request| {
            let ends_at = request
                .stage
                .timeout()
                .map(|timeout| request.progress_at.checked_add(timeout));
            ends_at.is_some_and(|ends_at| {
                request.stage == PlacementStage::Placing || ends_at.is_ok_and(|ends_at| ends_at <= now)
            })
        });
        let runs = next
            .into_iter()
            .chain(could_lose_place)
            .map(|request| &request.run);
        runs.filter(|run| *run != except).cloned().collect()
    }
}

/// Keeps the turn of a run that was admitted and whose Job does not exist yet, and progress that its pods do not show.
fn keep_turn(before: &PlacementRequest, request: &mut PlacementRequest, now: Timestamp) {
    let was_placing = before.stage == PlacementStage::Placing;
    let ends_at = before.progress_at.checked_add(PLACE_TIMEOUT);
    match request.stage {
        PlacementStage::Requesting if was_placing && ends_at.is_ok_and(|end| end > now) => {
            request.stage = PlacementStage::Placing;
            request.progress_at = before.progress_at;
        }
        PlacementStage::Placing if was_placing => {
            request.progress_at = request.progress_at.max(before.progress_at);
        }
        _ => {}
    }
}

/// Whether `request` leaves nodes to other runs that `before` did not.
fn unblocks_others(before: &PlacementRequest, request: &PlacementRequest) -> bool {
    let held = |request: &PlacementRequest| request.pod_nodes.len() + request.kept_nodes.len();
    let ended_turn = before.stage == PlacementStage::Placing && request.stage != PlacementStage::Placing;
    let stopped_waiting = before.stage == PlacementStage::Requesting && request.stage == PlacementStage::Idle;
    ended_turn || stopped_waiting || held(request) < held(before)
}

/// Whether a gang that lost its place a short time ago has released its last node. The run then waits for its next turn
/// since a time in the future.
fn gave_up_nodes(before: &PlacementRequest, request: &PlacementRequest) -> bool {
    before.stage == PlacementStage::Releasing
        && !before.pod_nodes.is_empty()
        && request.pod_nodes.is_empty()
        && request.waiting_since > before.progress_at
}

/// Describes `standing` without identifying runs in other namespaces.
fn describe(own: &PlacementRequest, standing: &Standing<'_>) -> Reservation {
    let name = |other: &PlacementRequest| match other.run.namespace == own.run.namespace {
        true => format!("run {}", other.run.name),
        false => "another run".to_owned(),
    };
    let precedes = standing.precedes.map(|other| match standing.ahead {
        MANY_AHEAD => format!("at least {MANY_AHEAD} runs must place their gangs on these nodes first"),
        _ => format!("{} must place its gang on these nodes first", name(other)),
    });
    let occupies = || {
        let other = standing.occupies?;
        Some(format!("{} has nodes that this gang needs", name(other)))
    };
    Reservation {
        blocked_by: precedes.or_else(occupies),
        competing_run: standing.competes.map(name),
        lost_after: standing.lost_after,
        until: standing.until,
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
