//! Which run may place its gang next, so that no two half-placed gangs wait for each other. Pure.
//!
//! Nothing is scheduled here: a gang is only created when no other one is still being placed on nodes it could want. The
//! oldest run comes first, and a run keeps its nodes between its legs where it does not share them.

use std::collections::BTreeSet;

use jiff::Timestamp;

/// A run, as far as others have to wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// `NAMESPACE/NAME`.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// When it was created.
    pub created: Timestamp,
    /// How many nodes it needs.
    pub workers: u32,
    /// Whether it shares its nodes with no other run.
    pub exclusive: bool,
    /// Nodes it may use; `None` where that is not known.
    pub may_use: Option<BTreeSet<String>>,
    /// Nodes its attempts ran on so far, and those its pods have.
    pub nodes: BTreeSet<String>,
    /// What it is doing.
    pub stage: Stage,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is over, suspended, or something else than other runs keeps it from its next gang; a queue that has not admitted
    /// its Job does, too.
    Idle,
    /// It would create its next gang now, or as soon as its own pods are gone.
    Next,
    /// Its gang was created, and not all pods have a node.
    Placing,
    /// All pods of its gang have a node.
    Placed,
}

/// The run that `own` has to wait for before it creates a gang, where there is one.
pub fn ahead<'a>(own: &Contender, others: impl IntoIterator<Item = &'a Contender>) -> Option<&'a Contender> {
    let others = others.into_iter().filter(|other| other.uid != own.uid);
    others
        .filter(|other| is_ahead(own, other))
        .min_by_key(|other| age(other))
}

/// A run whose gang has nodes that that of `own` could want.
pub fn beside<'a>(own: &Contender, others: impl IntoIterator<Item = &'a Contender>) -> Option<&'a Contender> {
    let others = others.into_iter().filter(|other| other.uid != own.uid);
    others
        .filter(|other| other.stage == Stage::Placed && overlap(own, other))
        .min_by_key(|other| age(other))
}

fn is_ahead(own: &Contender, other: &Contender) -> bool {
    if other.stage == Stage::Idle || !overlap(own, other) {
        return false;
    }
    let older = age(other) < age(own);
    match other.stage {
        Stage::Idle => false,
        Stage::Placing => true,
        // Who has begun goes on; of two that have or have not, the older goes first.
        Stage::Next => match (holds(own, other), holds(other, own)) {
            (true, false) => true,
            (false, true) => false,
            _ => older,
        },
        Stage::Placed => holds(own, other),
    }
}

fn age(run: &Contender) -> (Timestamp, &str) {
    (run.created, &run.uid)
}

/// Whether both could want the same node.
fn overlap(own: &Contender, other: &Contender) -> bool {
    match (wants(own), wants(other)) {
        (Some(own), Some(other)) => !own.is_disjoint(other),
        _ => true,
    }
}

/// Nodes a run may want: those it had, or else those it may use.
fn wants(run: &Contender) -> Option<&BTreeSet<String>> {
    match run.nodes.is_empty() {
        true => run.may_use.as_ref(),
        false => Some(&run.nodes),
    }
}

/// Whether `other` has begun on nodes without which `own` has not enough.
fn holds(own: &Contender, other: &Contender) -> bool {
    if !own.exclusive || !other.exclusive || other.nodes.is_empty() {
        return false;
    }
    let free = wants(own).map(|wanted| wanted.difference(&other.nodes).count());
    free.is_some_and(|free| free < own.workers as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, created: i64, stage: Stage) -> Contender {
        Contender {
            name: format!("fabric/{name}"),
            uid: name.to_owned(),
            created: Timestamp::from_second(created).unwrap(),
            workers: 2,
            exclusive: true,
            may_use: Some(set(&["a", "b"])),
            nodes: BTreeSet::new(),
            stage,
        }
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn first(own: &Contender, other: &Contender) -> bool {
        ahead(own, [own, other]).is_none()
    }

    #[test]
    fn of_two_that_want_the_same_nodes_exactly_one_goes_first() {
        let (old, young) = (run("old", 1, Stage::Next), run("young", 2, Stage::Next));
        assert!(first(&old, &young) && !first(&young, &old));
        let twin = run("twin", 1, Stage::Next);
        assert!(first(&old, &twin) != first(&twin, &old), "of one second, too");
    }

    #[test]
    fn a_gang_that_is_being_placed_is_waited_for_by_older_ones_too() {
        let (old, young) = (run("old", 1, Stage::Next), run("young", 2, Stage::Placing));
        assert_eq!(ahead(&old, [&young]).unwrap().name, "fabric/young");
    }

    #[test]
    fn a_run_keeps_its_nodes_between_its_legs() {
        let mut young = run("young", 2, Stage::Next);
        young.nodes = set(&["a", "b"]);
        let mut old = run("old", 1, Stage::Next);
        assert!(!first(&old, &young), "it has begun");
        old.may_use = Some(set(&["a", "b", "c", "d"]));
        assert!(first(&old, &young), "there are others");
        assert!(!first(&young, &old), "the older may still choose these");
        old.stage = Stage::Placed;
        old.nodes = set(&["c", "d"]);
        assert!(first(&young, &old));
    }

    #[test]
    fn who_shares_nodes_or_is_idle_or_elsewhere_holds_nobody_up() {
        let own = run("own", 2, Stage::Next);
        let mut other = run("other", 1, Stage::Placed);
        other.nodes = set(&["a", "b"]);
        assert!(!first(&own, &other));
        let shared = |run: &Contender| Contender {
            exclusive: false,
            ..run.clone()
        };
        assert!(first(&shared(&own), &shared(&other)));
        other.stage = Stage::Idle;
        assert!(first(&own, &other));
        other.stage = Stage::Placing;
        other.nodes = set(&["x", "y"]);
        assert!(first(&own, &other));
        other.nodes = BTreeSet::new();
        other.may_use = None;
        assert!(!first(&own, &other), "what is not known may be the same");
    }

    #[test]
    fn a_gang_that_is_placed_is_beside_one_that_could_want_its_nodes() {
        let own = run("own", 2, Stage::Placing);
        let mut other = run("other", 1, Stage::Placed);
        other.nodes = set(&["a", "b"]);
        assert_eq!(beside(&own, [&own, &other]).unwrap().name, "fabric/other");
        other.nodes = set(&["x", "y"]);
        assert_eq!(beside(&own, [&other]), None);
        other.nodes = set(&["a", "b"]);
        other.stage = Stage::Placing;
        assert_eq!(beside(&own, [&other]), None, "neither runs");
    }

    /// Whatever two runs do, they do not wait for each other.
    #[test]
    fn two_runs_never_wait_for_each_other() {
        let stages = [Stage::Next, Stage::Placing, Stage::Placed, Stage::Idle];
        let nodes = [set(&[]), set(&["a", "b"]), set(&["c", "d"]), set(&["b", "c"])];
        for other_stage in stages {
            for own_nodes in &nodes {
                for other_nodes in &nodes {
                    let mut own = run("own", 1, Stage::Next);
                    let mut other = run("other", 2, other_stage);
                    own.nodes.clone_from(own_nodes);
                    other.nodes.clone_from(other_nodes);
                    let mutual = !first(&own, &other) && !first(&other, &own) && other_stage == Stage::Next;
                    assert!(!mutual, "{own:?} and {other:?}");
                }
            }
        }
    }
}
