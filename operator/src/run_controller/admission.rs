//! Decides which run may place its gang next, and which gang must give up its place. Performs no I/O.
//!
//! `docs/places.md` states the rules and the bound on waiting. This is not a scheduler: it only delays the creation of a
//! gang while another gang is being placed on nodes that both could use, and ends the attempt of a gang that makes no
//! progress while other runs wait for its nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::store::RunKey;

/// Time without progress after which a gang that is only partly placed loses its place.
pub(super) const PLACE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without progress after which a gang that is placed but has not started loses its place. Nodes may have to pull
/// large images.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Time after which other runs no longer respect the turn of a run that has lost its place, even if its gang could not
/// be removed.
pub(super) const RELEASE_TIMEOUT: Duration = Duration::from_secs(60);
/// Delay after the first lost place, which doubles with each further one. It is longer than the grace period of a pod, so
/// that another gang can use the nodes in the meantime.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(60);
/// Number of runs ahead of a run from which its message does not say who is next, and it is not told about every turn.
/// Otherwise each turn would change the statuses of all waiting runs.
pub(super) const MANY_AHEAD: usize = 4;
/// Maximum delay after a lost place.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(600);

/// Returns the time for which a run that has lost its place `lost_places` times in a row does not request another one.
pub(super) fn retry_delay(lost_places: u32) -> Duration {
    let doublings = lost_places.saturating_sub(1).min(16);
    FIRST_RETRY_DELAY
        .saturating_mul(1 << doublings)
        .min(MAX_RETRY_DELAY)
}

/// The part of a run's placement that affects other runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacementRequest {
    /// Namespace and name of the run.
    pub run: RunKey,
    /// UID of the run.
    pub uid: String,
    /// Time since which the run has been waiting for a turn: its creation, or the end of the delay after its gang lost
    /// its place.
    pub waiting_since: Timestamp,
    /// Number of nodes that the run needs.
    pub workers: usize,
    /// Whether the run needs its nodes exclusively.
    pub exclusive: bool,
    /// Nodes that meet the requirements of a worker, even if there are too few of them; `None` if unknown.
    pub candidate_nodes: Option<BTreeSet<String>>,
    /// Nodes of the run's earlier attempts, on which later legs must run. Empty if the run does not keep them.
    pub kept_nodes: BTreeSet<String>,
    /// Nodes of the run's pods.
    pub pod_nodes: BTreeSet<String>,
    /// Stage of the placement.
    pub stage: PlacementStage,
    /// Whether some pods of the gang were not created in time.
    pub lacks_pods: bool,
    /// Time of the last progress of the gang: a pod was created, placed or started.
    pub progress_at: Timestamp,
    /// Time of the run's last turn: its last gang started, or the delay after a lost place ends.
    pub last_turn: Option<Timestamp>,
}

/// Stage of a run's placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlacementStage {
    /// The run needs no nodes now: it is finished or suspended, its Job is waiting for admission by a queue, or its
    /// next gang is delayed by something other than another run.
    Idle,
    /// The run needs no new gang now, but pods of its previous gang still occupy nodes.
    Releasing,
    /// The run is ready to create its next gang.
    Requesting,
    /// The run has its turn, but some pods of its gang have no node yet.
    Placing,
    /// All pods of the gang have a node, but some workers have not started.
    Starting,
    /// All workers have started.
    Running,
}

impl PlacementStage {
    /// Time without progress after which a gang in this stage loses its place if other runs need its nodes.
    pub(super) fn timeout(self) -> Option<Duration> {
        match self {
            Self::Placing => Some(PLACE_TIMEOUT),
            Self::Starting => Some(START_TIMEOUT),
            Self::Idle | Self::Releasing | Self::Requesting | Self::Running => None,
        }
    }
}

/// Time of the last turn of each namespace.
pub(super) type Turns = BTreeMap<String, Timestamp>;

/// What the other runs mean for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing<'a> {
    /// The run that must place its gang first.
    pub precedes: Option<&'a PlacementRequest>,
    /// Number of runs that must place their gangs first, at most [`MANY_AHEAD`].
    pub ahead: usize,
    /// A run that occupies nodes without which too few are left.
    pub occupies: Option<&'a PlacementRequest>,
    /// A run whose placed gang occupies nodes that this run's gang could use. Set only while this run's gang is being
    /// placed.
    pub competes: Option<&'a PlacementRequest>,
    /// Set if the gang must give up its place: the time that it spent without progress.
    pub lost_after: Option<Duration>,
    /// Time at which the standing may change even if no request changes.
    pub until: Option<Timestamp>,
}

/// Returns what `others` mean for `own` at `now`. `turns` are the last turns of all namespaces.
pub(super) fn standing<'a>(
    own: &PlacementRequest,
    others: impl IntoIterator<Item = &'a PlacementRequest>,
    turns: &Turns,
    now: Timestamp,
) -> Standing<'a> {
    let others = others.into_iter().filter(|other| other.uid != own.uid);
    let scene = Scene {
        own,
        others: others.collect(),
        turns,
        now,
    };
    match own.stage {
        PlacementStage::Idle | PlacementStage::Releasing | PlacementStage::Running => Standing::default(),
        PlacementStage::Requesting => scene.before_creation(),
        PlacementStage::Placing | PlacementStage::Starting => scene.after_creation(),
    }
}

/// Returns the runs that wait for their turn with fewer than [`MANY_AHEAD`] runs ahead of them.
pub(super) fn next_in_turn<'a>(
    requests: impl IntoIterator<Item = &'a PlacementRequest>,
    turns: &Turns,
    now: Timestamp,
) -> Vec<&'a PlacementRequest> {
    let waits_or_has_turn =
        |run: &&PlacementRequest| run.stage == PlacementStage::Requesting || has_turn(run, now);
    let mut runs: Vec<_> = requests.into_iter().filter(waits_or_has_turn).collect();
    // A run that has its turn is ahead of all others.
    runs.sort_by_cached_key(|run| (run.stage == PlacementStage::Requesting, order(run, turns)));
    let is_next = |index: usize, run: &PlacementRequest| {
        let ahead = runs
            .iter()
            .take(index)
            .filter(|other| fits(other) && conflict(run, other));
        run.stage == PlacementStage::Requesting && ahead.take(MANY_AHEAD).count() < MANY_AHEAD
    };
    let next = runs
        .iter()
        .enumerate()
        .filter(|(index, run)| is_next(*index, run));
    next.map(|(_, run)| *run).collect()
}

struct Scene<'s, 'a> {
    own: &'s PlacementRequest,
    others: Vec<&'a PlacementRequest>,
    turns: &'s Turns,
    now: Timestamp,
}

impl<'a> Scene<'_, 'a> {
    fn before_creation(&self) -> Standing<'a> {
        let own_order = self.order(self.own);
        let has_turn = |other: &PlacementRequest| has_turn(other, self.now) && conflict(self.own, other);
        let is_earlier = |other: &PlacementRequest| {
            let waits = other.stage == PlacementStage::Requesting && fits(other);
            waits && conflict(self.own, other) && self.order(other) < own_order
        };
        let ahead = self
            .others
            .iter()
            .filter(|other| has_turn(other) || is_earlier(other));
        let ahead = ahead.take(MANY_AHEAD).count();
        let placing = self.first(has_turn);
        let earlier = self.first(is_earlier);
        let precedes = placing.or(earlier);
        // The first run in line needs a timer even if many gangs are being placed, because nothing else ends their turns.
        let needs_timer = ahead < MANY_AHEAD || earlier.is_none();
        let occupies = match precedes {
            None if self.is_short(self.own) => self.first(|other| occupies_nodes_of(self.own, other)),
            _ => None,
        };
        Standing {
            precedes,
            ahead,
            occupies,
            until: placing.filter(|_| needs_timer).and_then(turn_ends_at),
            ..Standing::default()
        }
    }

    fn after_creation(&self) -> Standing<'a> {
        let placed = |other: &PlacementRequest| {
            matches!(other.stage, PlacementStage::Starting | PlacementStage::Running)
                && is_on_nodes_of(self.own, other)
        };
        let competes = match self.own.stage {
            PlacementStage::Placing => self.first(placed),
            _ => None,
        };
        let timeout = self.own.stage.timeout().unwrap_or_default();
        let ends_at = self.own.progress_at.checked_add(timeout).ok();
        let stalled = ends_at.is_some_and(|ends_at| ends_at <= self.now);
        let obstructed = self.is_obstructed() && turn_ends_at(self.own).is_none_or(|end| end > self.now);
        Standing {
            competes,
            lost_after: (stalled && self.is_contended() && !obstructed).then_some(timeout),
            until: match (stalled, obstructed) {
                (false, _) => ends_at,
                (true, true) => turn_ends_at(self.own),
                (true, false) => None,
            },
            ..Standing::default()
        }
    }

    /// Whether another run needs the place of the own gang and could be placed instead.
    fn is_contended(&self) -> bool {
        let own = self.own;
        // The pods of a gang that does not fit have no turn, but they may be placed at any time.
        let is_placing = own.stage == PlacementStage::Placing;
        self.others.iter().any(|other| {
            fits(other)
                && match other.stage {
                    PlacementStage::Requesting => {
                        is_placing && conflict(own, other)
                            || occupies_nodes_of(other, own) && self.is_short(other)
                    }
                    // Two gangs may be partly placed if a queue has admitted one of them. The first one keeps its place.
                    PlacementStage::Placing => {
                        let first =
                            own.stage == PlacementStage::Starting || self.rank(other) < self.rank(own);
                        first && is_on_nodes_of(other, own) && self.may_be_short(other)
                    }
                    _ => false,
                }
        })
    }

    /// Whether another gang that is partly placed is on nodes that the own gang needs, and gives them up first.
    fn is_obstructed(&self) -> bool {
        self.own.stage == PlacementStage::Placing
            && self.others.iter().any(|other| {
                let is_placing = other.stage == PlacementStage::Placing;
                is_placing && is_on_nodes_of(self.own, other) && self.rank(other) > self.rank(self.own)
            })
    }

    /// Returns the first of the other runs for which `matches` is true.
    fn first(&self, matches: impl Fn(&PlacementRequest) -> bool) -> Option<&'a PlacementRequest> {
        let matching = self.others.iter().copied().filter(|other| matches(other));
        matching.min_by_key(|other| self.order(other))
    }

    fn order<'r>(&self, run: &'r PlacementRequest) -> Order<'r> {
        order(run, self.turns)
    }

    /// Order of two gangs that are both being placed. A gang that lacks pods or nodes gives up first.
    fn rank<'r>(&self, run: &'r PlacementRequest) -> impl Ord + use<'r> {
        (run.lacks_pods || !fits(run), self.order(run))
    }

    /// Whether the other runs occupy so many nodes that too few are left for `run`. `false` if the nodes are unknown.
    fn is_short(&self, run: &PlacementRequest) -> bool {
        let Some(usable) = usable_nodes(run) else {
            return false;
        };
        let all = self.others.iter().copied().chain([self.own]);
        let holders: Vec<_> = all
            .filter(|other| other.uid != run.uid && excludes(run, other))
            .collect();
        let is_free = |node: &&String| !holders.iter().any(|other| holds(other, node));
        fits(run) && usable.iter().filter(is_free).count() < run.workers
    }

    /// Whether `run`, which waits for the own gang, may have too few nodes. The resources that are left on a shared node
    /// are unknown.
    fn may_be_short(&self, run: &PlacementRequest) -> bool {
        !excludes(run, self.own) || usable_nodes(run).is_none() || self.is_short(run)
    }
}

/// Order of the turns: a run that continues on the nodes of its previous leg, then the namespace whose last turn is
/// longest ago, then the run that has been waiting longest.
type Order<'r> = (bool, Option<Timestamp>, Timestamp, &'r str);

fn order<'r>(run: &'r PlacementRequest, turns: &Turns) -> Order<'r> {
    let turn = turns.get(&run.run.namespace).copied();
    (run.kept_nodes.is_empty(), turn, run.waiting_since, &run.uid)
}

/// Whether `run` is being placed, and its turn has not ended at `now`.
fn has_turn(run: &PlacementRequest, now: Timestamp) -> bool {
    run.stage == PlacementStage::Placing && fits(run) && turn_ends_at(run).is_none_or(|end| end > now)
}

/// Time at which other runs stop respecting the turn of `run`.
fn turn_ends_at(run: &PlacementRequest) -> Option<Timestamp> {
    run.progress_at.checked_add(PLACE_TIMEOUT + RELEASE_TIMEOUT).ok()
}

/// Whether both runs could use the same node.
fn conflict(own: &PlacementRequest, other: &PlacementRequest) -> bool {
    match (usable_nodes(own), usable_nodes(other)) {
        (Some(own), Some(other)) => !own.is_disjoint(other),
        (Some(known), None) | (None, Some(known)) => !known.is_empty(),
        (None, None) => true,
    }
}

/// Whether enough nodes for all workers of `run` exist, as far as it is known.
fn fits(run: &PlacementRequest) -> bool {
    usable_nodes(run).is_none_or(|nodes| nodes.len() >= run.workers)
}

/// Returns the nodes that a run may use: those that it keeps if there are any, otherwise all candidates.
fn usable_nodes(run: &PlacementRequest) -> Option<&BTreeSet<String>> {
    match run.kept_nodes.is_empty() {
        true => run.candidate_nodes.as_ref(),
        false => Some(&run.kept_nodes),
    }
}

/// Whether the workers of both runs cannot share a node.
fn excludes(own: &PlacementRequest, other: &PlacementRequest) -> bool {
    own.exclusive || other.exclusive
}

/// Whether `run` has `node`, or keeps it for its next leg.
fn holds(run: &PlacementRequest, node: &String) -> bool {
    run.pod_nodes.contains(node) || run.kept_nodes.contains(node)
}

/// Whether `other` holds a node that `run` could use if `other` did not.
fn occupies_nodes_of(run: &PlacementRequest, other: &PlacementRequest) -> bool {
    excludes(run, other) && is_on_nodes_of(run, other)
}

/// Whether `other` holds a node that `run` could use.
fn is_on_nodes_of(run: &PlacementRequest, other: &PlacementRequest) -> bool {
    let mut held = other.pod_nodes.iter().chain(&other.kept_nodes);
    held.any(|node| usable_nodes(run).is_none_or(|usable| usable.contains(node)))
}

#[cfg(test)]
pub(super) mod tests;
