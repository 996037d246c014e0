//! Tests for the registered requests.

use super::*;
use crate::run_controller::admission::tests::{request, second, set};

#[test]
fn admits_one_run_at_a_time_and_keeps_its_turn() {
    let reservations = Reservations::default();
    let register = |name: &str, since| {
        let mut request = request(name, PlacementStage::Requesting);
        request.waiting_since = second(since);
        reservations.register(request, second(10))
    };
    let admitted = (Reservation::default(), Vec::new());
    assert_eq!(register("n/b", 2), admitted);
    let blocked_by = |name: &str, since| register(name, since).0.blocked_by;
    let first = "must place its gang on these nodes first";
    assert_eq!(blocked_by("n/c", 3).unwrap(), format!("run b {first}"));
    assert_eq!(blocked_by("n/a", 1).unwrap(), format!("run b {first}"));
    assert_eq!(register("n/b", 2).0.blocked_by, None, "its Job is being created");
    let mut placed = request("n/b", PlacementStage::Running);
    placed.candidate_nodes = Some(set(&["x", "y"]));
    let (_, unblocked) = reservations.register(placed, second(11));
    let waiting = ["a", "c"].map(|name| request(&format!("n/{name}"), PlacementStage::Idle).run);
    assert_eq!(unblocked, waiting);
    assert_eq!(blocked_by("n/c", 3).unwrap(), format!("run a {first}"));
    assert_eq!(blocked_by("n/a", 1), None);
    assert_eq!(
        reservations.release(&waiting[0], second(12)),
        [waiting[1].clone()]
    );
    assert_eq!(blocked_by("n/c", 3), None);
}

#[test]
fn turn_of_a_run_concerns_only_the_next_ones() {
    let reservations = Reservations::default();
    let waiting = |index: usize| {
        let mut request = request(&format!("n/{index:02}"), PlacementStage::Requesting);
        request.waiting_since = second(i64::try_from(index).unwrap());
        request
    };
    let blocked_by = |index| reservations.register(waiting(index), second(100)).0.blocked_by;
    assert_eq!(blocked_by(0), None);
    for index in 1..20 {
        let message = match index {
            1..MANY_AHEAD => "run 00 must place its gang on these nodes first",
            _ => "at least 4 runs must place their gangs on these nodes first",
        };
        assert_eq!(blocked_by(index).as_deref(), Some(message), "{index}");
    }
    let mut others = waiting(50);
    others.run.name = "other-nodes".to_owned();
    others.candidate_nodes = Some(set(&["elsewhere"]));
    others.workers = 1;
    let other_run = others.run.clone();
    assert_eq!(reservations.register(others, second(100)).0.blocked_by, None);
    let placed = PlacementRequest {
        stage: PlacementStage::Running,
        ..waiting(0)
    };
    let (_, affected) = reservations.register(placed, second(101));
    let mut next: Vec<_> = (1..=MANY_AHEAD).map(|index| waiting(index).run).collect();
    next.push(other_run);
    assert_eq!(affected, next);
}

#[test]
fn runs_in_other_namespaces_are_not_named() {
    let reservations = Reservations::default();
    reservations.register(request("secret/name", PlacementStage::Requesting), second(0));
    let mut own = request("n/own", PlacementStage::Requesting);
    let blocked = reservations
        .register(own.clone(), second(1))
        .0
        .blocked_by
        .unwrap();
    assert_eq!(blocked, "another run must place its gang on these nodes first");
    let mut running = request("secret/name", PlacementStage::Running);
    running.pod_nodes = set(&["a", "b"]);
    reservations.register(running, second(2));
    let blocked = reservations
        .register(own.clone(), second(3))
        .0
        .blocked_by
        .unwrap();
    assert_eq!(blocked, "another run has nodes that this gang needs");
    own.stage = PlacementStage::Placing;
    let competing = reservations.register(own, second(4)).0.competing_run.unwrap();
    assert_eq!(competing, "another run");
}

#[test]
fn run_that_starts_to_wait_wakes_a_gang_that_holds_its_nodes() {
    let reservations = Reservations::default();
    let mut placing = request("n/placing", PlacementStage::Placing);
    placing.pod_nodes = set(&["a"]);
    let (alone, _) = reservations.register(placing.clone(), second(100));
    assert_eq!((alone.lost_after, alone.until), (None, None));
    let (_, woken) = reservations.register(request("m/waits", PlacementStage::Requesting), second(101));
    assert_eq!(woken, [placing.run.clone()]);
    let (lost, _) = reservations.register(placing, second(101));
    assert_eq!(lost.lost_after, Some(PLACE_TIMEOUT));
}
