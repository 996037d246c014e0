//! Decides which run may place its gang next, so that two half-placed gangs never wait for each other. Performs no I/O.
//!
//! This is not a scheduler: it only delays the creation of a gang while another gang is being placed on nodes that both
//! could use. The oldest run comes first. A run with exclusive placement keeps its nodes from one leg to the next.

use std::collections::BTreeSet;

use jiff::Timestamp;

/// The part of a run's placement that affects other runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRequest {
    /// `NAMESPACE/NAME` of the run.
    pub name: String,
    /// UID of the run.
    pub uid: String,
    /// Creation time of the run.
    pub created: Timestamp,
    /// Number of nodes that the run needs.
    pub workers: u32,
    /// Whether the run needs its nodes exclusively.
    pub exclusive: bool,
    /// Nodes that meet the requirements of the workers; `None` if unknown.
    pub candidate_nodes: Option<BTreeSet<String>>,
    /// Nodes of the run's earlier attempts and of its pods.
    pub nodes: BTreeSet<String>,
    /// Stage of the placement.
    pub stage: PlacementStage,
}

/// Stage of a run's placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementStage {
    /// The run needs no nodes now: it is finished or suspended, its Job is waiting for admission by a queue, or its
    /// next gang is delayed by something other than another run.
    Idle,
    /// The run is ready to create its next gang, or will be as soon as its previous pods are gone.
    Requesting,
    /// The run's gang was created, but some of its pods have no node yet.
    Placing,
    /// All pods in the gang have a node.
    Placed,
}

/// Result of a placement request. Names are `NAMESPACE/NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// The run that must place its gang first.
    pub blocked_by: Option<String>,
    /// A run whose placed gang occupies nodes that this run's gang could use. Set only while this run's gang is being
    /// placed.
    pub competing_run: Option<String>,
}

/// Returns the run that `own` must wait for before it can create its gang.
pub fn blocked_by<'a>(
    own: &PlacementRequest,
    others: impl IntoIterator<Item = &'a PlacementRequest>,
) -> Option<&'a PlacementRequest> {
    let others = others.into_iter().filter(|other| other.uid != own.uid);
    others
        .filter(|other| blocks(own, other))
        .min_by_key(|other| creation_order(other))
}

/// Returns a run whose placed gang occupies nodes that `own` could use.
pub fn competing_run<'a>(
    own: &PlacementRequest,
    others: impl IntoIterator<Item = &'a PlacementRequest>,
) -> Option<&'a PlacementRequest> {
    let others = others.into_iter().filter(|other| other.uid != own.uid);
    others
        .filter(|other| other.stage == PlacementStage::Placed && overlap(own, other))
        .min_by_key(|other| creation_order(other))
}

fn blocks(own: &PlacementRequest, other: &PlacementRequest) -> bool {
    if other.stage == PlacementStage::Idle || !overlap(own, other) {
        return false;
    }
    let older = creation_order(other) < creation_order(own);
    match other.stage {
        PlacementStage::Idle => false,
        PlacementStage::Placing => true,
        // If only one of the two runs holds nodes that the other needs, the run that holds them comes first. Otherwise,
        // the older run comes first.
        PlacementStage::Requesting => {
            match (holds_needed_nodes(own, other), holds_needed_nodes(other, own)) {
                (true, false) => true,
                (false, true) => false,
                _ => older,
            }
        }
        PlacementStage::Placed => holds_needed_nodes(own, other),
    }
}

fn creation_order(run: &PlacementRequest) -> (Timestamp, &str) {
    (run.created, &run.uid)
}

/// Whether both runs could use the same node.
fn overlap(own: &PlacementRequest, other: &PlacementRequest) -> bool {
    match (usable_nodes(own), usable_nodes(other)) {
        (Some(own), Some(other)) => !own.is_disjoint(other),
        _ => true,
    }
}

/// Returns the nodes that a run may use: the nodes of its earlier attempts if there are any, otherwise all eligible
/// nodes.
fn usable_nodes(run: &PlacementRequest) -> Option<&BTreeSet<String>> {
    match run.nodes.is_empty() {
        true => run.candidate_nodes.as_ref(),
        false => Some(&run.nodes),
    }
}

/// Whether `other` holds so many nodes exclusively that too few nodes are left for `own`.
fn holds_needed_nodes(own: &PlacementRequest, other: &PlacementRequest) -> bool {
    if !own.exclusive || !other.exclusive || other.nodes.is_empty() {
        return false;
    }
    let free = usable_nodes(own).map(|usable| usable.difference(&other.nodes).count());
    free.is_some_and(|free| free < own.workers as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, created: i64, stage: PlacementStage) -> PlacementRequest {
        PlacementRequest {
            name: format!("fabric/{name}"),
            uid: name.to_owned(),
            created: Timestamp::from_second(created).unwrap(),
            workers: 2,
            exclusive: true,
            candidate_nodes: Some(set(&["a", "b"])),
            nodes: BTreeSet::new(),
            stage,
        }
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn is_admitted(own: &PlacementRequest, other: &PlacementRequest) -> bool {
        blocked_by(own, [own, other]).is_none()
    }

    #[test]
    fn exactly_one_of_two_runs_that_request_the_same_nodes_is_admitted() {
        let (old, newer) = (
            run("old", 1, PlacementStage::Requesting),
            run("newer", 2, PlacementStage::Requesting),
        );
        assert!(is_admitted(&old, &newer) && !is_admitted(&newer, &old));
        let twin = run("twin", 1, PlacementStage::Requesting);
        assert!(
            is_admitted(&old, &twin) != is_admitted(&twin, &old),
            "with equal creation times"
        );
    }

    #[test]
    fn older_run_waits_for_a_gang_that_is_being_placed() {
        let (old, newer) = (
            run("old", 1, PlacementStage::Requesting),
            run("newer", 2, PlacementStage::Placing),
        );
        assert_eq!(blocked_by(&old, [&newer]).unwrap().name, "fabric/newer");
    }

    #[test]
    fn exclusive_run_keeps_its_nodes_between_legs() {
        let mut newer = run("newer", 2, PlacementStage::Requesting);
        newer.nodes = set(&["a", "b"]);
        let mut old = run("old", 1, PlacementStage::Requesting);
        assert!(!is_admitted(&old, &newer), "the newer run holds the nodes");
        old.candidate_nodes = Some(set(&["a", "b", "c", "d"]));
        assert!(is_admitted(&old, &newer), "enough other nodes are eligible");
        assert!(
            !is_admitted(&newer, &old),
            "the older run may still choose these nodes"
        );
        old.stage = PlacementStage::Placed;
        old.nodes = set(&["c", "d"]);
        assert!(is_admitted(&newer, &old));
    }

    #[test]
    fn shared_idle_and_disjoint_runs_do_not_block() {
        let own = run("own", 2, PlacementStage::Requesting);
        let mut other = run("other", 1, PlacementStage::Placed);
        other.nodes = set(&["a", "b"]);
        assert!(!is_admitted(&own, &other));
        let shared = |run: &PlacementRequest| PlacementRequest {
            exclusive: false,
            ..run.clone()
        };
        assert!(is_admitted(&shared(&own), &shared(&other)));
        other.stage = PlacementStage::Idle;
        assert!(is_admitted(&own, &other));
        other.stage = PlacementStage::Placing;
        other.nodes = set(&["x", "y"]);
        assert!(is_admitted(&own, &other));
        other.nodes = BTreeSet::new();
        other.candidate_nodes = None;
        assert!(!is_admitted(&own, &other), "unknown nodes may overlap");
    }

    #[test]
    fn placed_gang_on_usable_nodes_is_a_competing_run() {
        let own = run("own", 2, PlacementStage::Placing);
        let mut other = run("other", 1, PlacementStage::Placed);
        other.nodes = set(&["a", "b"]);
        assert_eq!(competing_run(&own, [&own, &other]).unwrap().name, "fabric/other");
        other.nodes = set(&["x", "y"]);
        assert_eq!(competing_run(&own, [&other]), None);
        other.nodes = set(&["a", "b"]);
        other.stage = PlacementStage::Placing;
        assert_eq!(competing_run(&own, [&other]), None, "neither gang is placed");
    }

    #[test]
    fn two_runs_never_wait_for_each_other() {
        let stages = [
            PlacementStage::Requesting,
            PlacementStage::Placing,
            PlacementStage::Placed,
            PlacementStage::Idle,
        ];
        let nodes = [set(&[]), set(&["a", "b"]), set(&["c", "d"]), set(&["b", "c"])];
        for other_stage in stages {
            for own_nodes in &nodes {
                for other_nodes in &nodes {
                    let mut own = run("own", 1, PlacementStage::Requesting);
                    let mut other = run("other", 2, other_stage);
                    own.nodes.clone_from(own_nodes);
                    other.nodes.clone_from(other_nodes);
                    let mutual = !is_admitted(&own, &other)
                        && !is_admitted(&other, &own)
                        && other_stage == PlacementStage::Requesting;
                    assert!(!mutual, "{own:?} and {other:?}");
                }
            }
        }
    }
}
