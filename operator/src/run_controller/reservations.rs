//! The placement requests of all runs in progress. [`super::admission`] decides their order. Performs no I/O.
//!
//! An admitted run is in the `Placing` stage from the time it is admitted, even before its Job exists. Only one process
//! is active at a time, and it registers every run before its first action, so this state need not survive a restart.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::admission::{PlacementRequest, PlacementStage, Reservation, blocked_by, competing_run};
use super::store::RunKey;

/// The latest placement request of every run in progress.
#[derive(Debug, Default)]
pub(super) struct Reservations(Mutex<BTreeMap<RunKey, PlacementRequest>>);

impl Reservations {
    /// Registers a run's request, and admits the run if it requests a gang and nothing blocks it. Also returns the
    /// waiting runs that may be admitted now.
    pub(super) fn register(&self, key: &RunKey, mut request: PlacementRequest) -> (Reservation, Vec<RunKey>) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = requests.get(key).map(|before| before.stage);
        let blocked_by = match request.stage {
            PlacementStage::Requesting => {
                blocked_by(&request, requests.values()).map(|other| other.name.clone())
            }
            PlacementStage::Idle | PlacementStage::Placing | PlacementStage::Placed => None,
        };
        if request.stage == PlacementStage::Requesting && blocked_by.is_none() {
            request.stage = PlacementStage::Placing;
        }
        let competing_run = match request.stage {
            PlacementStage::Placing => {
                competing_run(&request, requests.values()).map(|other| other.name.clone())
            }
            PlacementStage::Idle | PlacementStage::Requesting | PlacementStage::Placed => None,
        };
        let unblocks = before.is_some_and(|before| unblocks_others(before, request.stage));
        match request.stage {
            PlacementStage::Idle => requests.remove(key),
            PlacementStage::Requesting | PlacementStage::Placing | PlacementStage::Placed => {
                requests.insert(key.clone(), request)
            }
        };
        let unblocked = match unblocks {
            true => waiting_runs(&requests, key),
            false => Vec::new(),
        };
        let reservation = Reservation {
            blocked_by,
            competing_run,
        };
        (reservation, unblocked)
    }

    /// Removes a finished or deleted run's request. Returns the runs that may be admitted now.
    pub(super) fn release(&self, key: &RunKey) -> Vec<RunKey> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match requests.remove(key) {
            Some(_) => waiting_runs(&requests, key),
            None => Vec::new(),
        }
    }
}

/// Whether a run's transition from stage `before` to stage `after` may unblock other runs.
fn unblocks_others(before: PlacementStage, after: PlacementStage) -> bool {
    match before {
        PlacementStage::Idle => false,
        PlacementStage::Placing => after != PlacementStage::Placing,
        PlacementStage::Requesting | PlacementStage::Placed => after == PlacementStage::Idle,
    }
}

fn waiting_runs(requests: &BTreeMap<RunKey, PlacementRequest>, except: &RunKey) -> Vec<RunKey> {
    let waiting = requests.iter().filter(|(key, request)| {
        let waits = matches!(
            request.stage,
            PlacementStage::Requesting | PlacementStage::Placing
        );
        *key != except && waits
    });
    waiting.map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;

    use super::*;

    fn key(name: &str) -> RunKey {
        RunKey {
            namespace: "n".to_owned(),
            name: name.to_owned(),
        }
    }

    fn request(name: &str, created: i64, stage: PlacementStage) -> PlacementRequest {
        PlacementRequest {
            name: format!("n/{name}"),
            uid: name.to_owned(),
            created: Timestamp::from_second(created).unwrap(),
            workers: 2,
            exclusive: true,
            candidate_nodes: None,
            nodes: BTreeSet::new(),
            stage,
        }
    }

    #[test]
    fn admits_one_run_at_a_time_oldest_first() {
        let reservations = Reservations::default();
        let register = |name: &str, created| {
            reservations.register(&key(name), request(name, created, PlacementStage::Requesting))
        };
        let admitted = (Reservation::default(), Vec::new());
        assert_eq!(register("b", 2), admitted);
        assert_eq!(
            register("b", 2),
            admitted,
            "a run stays admitted while its Job is created"
        );
        assert_eq!(register("c", 3).0.blocked_by.as_deref(), Some("n/b"));
        assert_eq!(register("a", 1).0.blocked_by.as_deref(), Some("n/b"));
        let (_, unblocked) = reservations.register(&key("b"), request("b", 2, PlacementStage::Placed));
        assert_eq!(unblocked, [key("a"), key("c")]);
        assert_eq!(
            register("c", 3).0.blocked_by.as_deref(),
            Some("n/a"),
            "the oldest is next"
        );
        assert_eq!(register("a", 1).0.blocked_by, None);
        assert_eq!(reservations.release(&key("a")), [key("c")]);
        assert_eq!(register("c", 3).0.blocked_by, None);
    }
}
