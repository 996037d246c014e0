//! Tests for the rules with two or three runs.

use super::*;

pub(in crate::run_controller) fn request(name: &str, stage: PlacementStage) -> PlacementRequest {
    let (namespace, run) = name.split_once('/').unwrap();
    PlacementRequest {
        run: RunKey {
            namespace: namespace.to_owned(),
            name: run.to_owned(),
        },
        uid: name.to_owned(),
        waiting_since: second(0),
        workers: 2,
        exclusive: true,
        candidate_nodes: Some(set(&["a", "b"])),
        kept_nodes: BTreeSet::new(),
        pod_nodes: BTreeSet::new(),
        stage,
        lacks_pods: false,
        progress_at: second(0),
        last_turn: None,
    }
}

pub(in crate::run_controller) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(in crate::run_controller) fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn old() -> PlacementRequest {
    request("n/old", PlacementStage::Requesting)
}

fn newer() -> PlacementRequest {
    PlacementRequest {
        waiting_since: second(1),
        ..request("n/newer", PlacementStage::Requesting)
    }
}

fn may_create(own: &PlacementRequest, others: &[&PlacementRequest]) -> bool {
    let standing = standing(own, others.iter().copied(), &Turns::new(), second(10));
    standing.precedes.is_none() && standing.occupies.is_none()
}

fn loses_place(own: &PlacementRequest, others: &[&PlacementRequest], now: i64) -> bool {
    standing(own, others.iter().copied(), &Turns::new(), second(now))
        .lost_after
        .is_some()
}

#[test]
fn exactly_one_of_two_runs_that_request_the_same_nodes_may_create_its_gang() {
    let (old, newer) = (old(), newer());
    assert!(may_create(&old, &[&old, &newer]) && !may_create(&newer, &[&old, &newer]));
    let twin = PlacementRequest {
        uid: "n/twin".to_owned(),
        ..old.clone()
    };
    assert!(may_create(&old, &[&twin]) != may_create(&twin, &[&old]));
}

#[test]
fn namespace_whose_last_turn_is_longest_ago_comes_first() {
    let (old, mut other) = (old(), newer());
    other.run.namespace = "other".to_owned();
    let mut turns = Turns::from([("n".to_owned(), second(5))]);
    let precedes = |own, other, turns: &Turns| standing(own, [other], turns, second(10)).precedes.is_some();
    assert!(
        precedes(&old, &other, &turns),
        "the other namespace had no turn yet"
    );
    turns.insert("other".to_owned(), second(6));
    assert!(precedes(&other, &old, &turns) && !precedes(&old, &other, &turns));
}

#[test]
fn run_without_enough_nodes_reserves_nothing() {
    for nodes in [set(&[]), set(&["a"])] {
        let mut typo = old();
        typo.candidate_nodes = Some(nodes);
        for stage in [PlacementStage::Requesting, PlacementStage::Placing] {
            typo.stage = stage;
            assert!(may_create(&newer(), &[&typo]), "{typo:?}");
        }
        typo.stage = PlacementStage::Placing;
        typo.pod_nodes = set(&["a"]);
        let standing = standing(&newer(), [&typo], &Turns::new(), second(10));
        assert_eq!(standing.occupies, Some(&typo), "its pod has a node");
        assert!(!loses_place(&typo, &[&newer()], 29) && loses_place(&typo, &[&newer()], 30));
    }
}

#[test]
fn unknown_nodes_may_overlap() {
    let mut unknown = old();
    unknown.candidate_nodes = None;
    assert!(!may_create(&newer(), &[&unknown]));
    let mut none = newer();
    none.candidate_nodes = Some(set(&[]));
    assert!(may_create(&none, &[&unknown]));
}

#[test]
fn turn_ends_without_progress() {
    let mut placing = newer();
    placing.stage = PlacementStage::Placing;
    let standing = |now| standing(&old(), [&placing], &Turns::new(), second(now)).clone();
    let first = standing(10);
    assert_eq!((first.precedes, first.until), (Some(&placing), Some(second(90))));
    assert_eq!(
        standing(90).precedes,
        None,
        "the turn counts even if its gang cannot be removed"
    );
    assert!(!loses_place(&placing, &[], 1000), "no other run needs the nodes");
    assert!(!loses_place(&placing, &[&old()], 29) && loses_place(&placing, &[&old()], 30));
    placing.stage = PlacementStage::Starting;
    placing.pod_nodes = set(&["a", "b"]);
    assert!(!loses_place(&placing, &[&old()], 299) && loses_place(&placing, &[&old()], 300));
    placing.stage = PlacementStage::Running;
    assert!(!loses_place(&placing, &[&old()], 100_000));
}

#[test]
fn first_run_in_line_has_a_timer_even_if_many_gangs_are_being_placed() {
    let gangs: Vec<_> = (0..MANY_AHEAD)
        .map(|number| {
            let mut gang = request(&format!("n/{number}"), PlacementStage::Placing);
            gang.candidate_nodes = Some(set(&[&format!("{number}a"), &format!("{number}b")]));
            gang
        })
        .collect();
    let mut waiting = newer();
    waiting.candidate_nodes = None;
    let standing_of = |own, others: &[&PlacementRequest]| {
        let others = gangs.iter().chain(others.iter().copied());
        let standing = standing(own, others, &Turns::new(), second(10));
        (standing.ahead, standing.precedes.is_some(), standing.until)
    };
    assert_eq!(
        standing_of(&waiting, &[]),
        (MANY_AHEAD, true, Some(second(90))),
        "nothing else ends the turns of these gangs"
    );
    let mut earlier = old();
    earlier.candidate_nodes = None;
    assert_eq!(
        standing_of(&waiting, &[&earlier]),
        (MANY_AHEAD, true, None),
        "the earlier run has the timer"
    );
}

#[test]
fn run_keeps_its_nodes_between_legs() {
    let mut newer = newer();
    newer.kept_nodes = set(&["a", "b"]);
    let mut old = old();
    assert!(!may_create(&old, &[&newer]) && may_create(&newer, &[&old]));
    newer.stage = PlacementStage::Running;
    newer.pod_nodes = set(&["a", "b"]);
    assert!(!may_create(&old, &[&newer]), "too few nodes are left");
    old.candidate_nodes = Some(set(&["a", "b", "c", "d"]));
    assert!(may_create(&old, &[&newer]), "enough other nodes are eligible");
    old.exclusive = false;
    old.candidate_nodes = Some(set(&["a", "b"]));
    assert!(!may_create(&old, &[&newer]), "the newer run is exclusive");
    newer.exclusive = false;
    assert!(may_create(&old, &[&newer]));
}

#[test]
fn nodes_of_several_runs_are_added_up() {
    let mut own = newer();
    own.candidate_nodes = Some(set(&["a", "b", "c"]));
    let holder = |name, node: &str| PlacementRequest {
        pod_nodes: set(&[node]),
        candidate_nodes: Some(set(&[node])),
        ..request(name, PlacementStage::Running)
    };
    let (first, second) = (holder("n/x", "a"), holder("m/y", "b"));
    assert!(may_create(&own, &[&first]) && !may_create(&own, &[&first, &second]));
}

#[test]
fn only_one_of_two_half_placed_gangs_gives_up_its_place() {
    for exclusive in [true, false] {
        let half = |mut run: PlacementRequest, node| {
            run.stage = PlacementStage::Placing;
            run.pod_nodes = set(&[node]);
            run.exclusive = exclusive;
            run
        };
        let (first, mut second) = (half(old(), "a"), half(newer(), "b"));
        assert!(!loses_place(&first, &[&second], 30) && loses_place(&second, &[&first], 30));
        second.lacks_pods = true;
        assert!(!loses_place(&first, &[&second], 30) && loses_place(&second, &[&first], 30));
        let mut first = first;
        second.lacks_pods = false;
        first.lacks_pods = true;
        assert!(loses_place(&first, &[&second], 30) && !loses_place(&second, &[&first], 30));
    }
}

#[test]
fn placed_gang_on_usable_nodes_is_a_competing_run() {
    let own = request("n/own", PlacementStage::Placing);
    let mut other = request("n/other", PlacementStage::Running);
    other.pod_nodes = set(&["a", "b"]);
    let competes = |other: &PlacementRequest| {
        standing(&own, [other], &Turns::new(), second(1))
            .competes
            .is_some()
    };
    assert!(competes(&other));
    other.pod_nodes = set(&["x", "y"]);
    assert!(!competes(&other));
}

#[test]
fn retry_delay_doubles_up_to_a_limit() {
    let seconds = [1, 2, 3, 6, 100].map(|lost| retry_delay(lost).as_secs());
    assert_eq!(seconds, [60, 120, 240, 600, 600]);
}
