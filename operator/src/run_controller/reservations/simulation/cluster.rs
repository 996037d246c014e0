//! The simulated cluster: its runs, the scheduler, the kubelets, the queue and the controller.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::super::{Reservations, State};
use super::kind::Kind::{
    self, HalfQuota, HalfSelector, MissingImage, MissingVolume, NoPods, Preempted, QueuedHalfQuota,
    Unschedulable, WrongSelector,
};
use super::kind::{GRACE, IMAGE_TIMEOUT, WORKERS};
use crate::run_controller::admission::{PlacementRequest, PlacementStage, retry_delay, standing};
use crate::run_controller::store::RunKey;

/// Time after which a run that is not placed fails. Time spent waiting for other runs does not count.
const PENDING_DEADLINE: i64 = 900;

#[derive(Clone, Debug)]
struct Pod {
    node: Option<usize>,
    scheduled_at: i64,
    started: bool,
    /// Time at which the deleted pod is gone.
    gone_at: Option<i64>,
}

#[derive(Clone, Debug)]
struct Run {
    kind: Kind,
    key: RunKey,
    created: i64,
    job_at: Option<i64>,
    pods: Vec<Pod>,
    /// Nodes that have the labels in the node selector.
    candidates: BTreeSet<usize>,
    kept: BTreeSet<usize>,
    lost_places: u32,
    /// Number of gangs that have been created.
    turns: i64,
    disruptions: u32,
    retry_at: i64,
    last_turn: Option<i64>,
    legs_left: u32,
    preemptions_left: u32,
    running_until: Option<i64>,
    pending: i64,
    finished: bool,
    /// Whether the run must be reconciled, and the time of its timer.
    changed: bool,
    timer: Option<i64>,
    blocked: bool,
    /// Time that the run spent behind runs that cannot be placed, since its namespace's last turn.
    behind: i64,
    longest_behind: i64,
    first_placed: Option<i64>,
}

pub(super) struct Cluster {
    now: i64,
    nodes: usize,
    runs: Vec<Run>,
    reservations: Reservations,
    random: u64,
    pub(super) lost_places: u32,
    /// Whether a reservation may have changed since the waits were measured.
    changed: bool,
    /// For each run, whether it waits behind a run that cannot be placed; `None` if it does not wait.
    behind: Vec<Option<bool>>,
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

impl Cluster {
    pub(super) fn new(nodes: usize, seed: u64) -> Self {
        Self {
            now: 1_000_000,
            nodes,
            runs: Vec::new(),
            reservations: Reservations::default(),
            random: seed,
            lost_places: 0,
            changed: true,
            behind: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, namespace: usize, kind: Kind, delay: i64) {
        let number = self.runs.len();
        self.runs.push(Run {
            kind,
            key: RunKey {
                namespace: format!("tenant-{namespace:03}"),
                name: format!("run-{number:04}"),
            },
            created: self.now + delay,
            job_at: None,
            pods: Vec::new(),
            candidates: match kind {
                WrongSelector => BTreeSet::new(),
                HalfSelector => BTreeSet::from([0]),
                _ => (0..self.nodes).collect(),
            },
            kept: BTreeSet::new(),
            lost_places: 0,
            turns: 0,
            disruptions: 0,
            retry_at: 0,
            last_turn: None,
            legs_left: 2,
            preemptions_left: if kind == Preempted { 3 } else { 0 },
            running_until: None,
            pending: 0,
            finished: false,
            changed: true,
            timer: None,
            blocked: false,
            behind: 0,
            longest_behind: 0,
            first_placed: None,
        });
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % limit
    }

    fn request(&self, run: &Run) -> PlacementRequest {
        let placed = run.pods.iter().filter(|pod| pod.node.is_some());
        let started = run.pods.iter().filter(|pod| pod.started).count();
        let created = run.pods.iter().filter(|pod| pod.gone_at.is_none()).count();
        let releasing = run.pods.iter().any(|pod| pod.gone_at.is_some());
        let stage = match run.job_at {
            _ if run.finished && !releasing => PlacementStage::Idle,
            _ if releasing => PlacementStage::Releasing,
            None if run.retry_at > self.now || run.kind.is_queued() => PlacementStage::Idle,
            None => PlacementStage::Requesting,
            Some(_) if placed.clone().count() < WORKERS => PlacementStage::Placing,
            Some(_) if started < WORKERS => PlacementStage::Starting,
            Some(_) => PlacementStage::Running,
        };
        let job_at = run.job_at.unwrap_or(self.now);
        let progress = run.pods.iter().map(|pod| pod.scheduled_at).chain([job_at]).max();
        let nodes = |nodes: &BTreeSet<usize>| nodes.iter().map(|node| name(*node)).collect();
        let keeps = run.lost_places == 0 && !run.finished;
        PlacementRequest {
            run: run.key.clone(),
            uid: run.key.name.clone(),
            waiting_since: second(run.created.max(run.retry_at)),
            workers: WORKERS,
            exclusive: true,
            candidate_nodes: Some(match run.kept.is_empty() {
                true => nodes(&run.candidates),
                false => nodes(&run.kept),
            }),
            kept_nodes: if keeps { nodes(&run.kept) } else { BTreeSet::new() },
            pod_nodes: placed.filter_map(|pod| pod.node).map(name).collect(),
            stage,
            lacks_pods: created < WORKERS && self.now >= job_at + 30,
            progress_at: second(progress.unwrap()),
            last_turn: run
                .last_turn
                .max(Some(run.retry_at).filter(|at| *at > 0))
                .map(second),
        }
    }

    /// Reconciles run `index` as the controller does.
    fn reconcile(&mut self, index: usize) {
        let request = self.request(&self.runs[index]);
        let stage = request.stage;
        let (reservation, woken) = self.reservations.register(request, second(self.now));
        for run in &mut self.runs {
            run.changed |= woken.contains(&run.key);
        }
        let now = self.now;
        let admitted = {
            let chance = self.below(10) == 0;
            self.runs[index].kind.is_queued() && chance
        };
        self.changed |= stage != PlacementStage::Idle || self.runs[index].changed;
        let run = &mut self.runs[index];
        run.changed = false;
        run.timer = reservation.until.map(|until| until.as_second());
        run.blocked = reservation.blocked_by.is_some();
        if run.finished {
            return;
        }
        let may_create = match run.kind.is_queued() {
            true => stage == PlacementStage::Idle && run.job_at.is_none() && run.retry_at <= now && admitted,
            false => stage == PlacementStage::Requesting && !run.blocked,
        };
        if may_create {
            run.job_at = Some(now);
            run.turns += 1;
            let pods = match run.kind {
                HalfQuota | QueuedHalfQuota => 1,
                NoPods => 0,
                _ => WORKERS,
            };
            let pod = Pod {
                node: None,
                scheduled_at: now,
                started: false,
                gone_at: None,
            };
            run.pods = vec![pod; pods];
            run.changed = true;
        } else if run.job_at.is_some() && reservation.lost_after.is_some() {
            self.lost_places += 1;
            run.lose_place(now);
        } else if run.kind.is_queued() && run.job_at.is_none() {
            run.timer = Some(now + 1);
        }
        if run.retry_at > now && run.job_at.is_none() {
            run.timer = Some(run.retry_at);
        }
    }

    /// Lets one second pass.
    fn step(&mut self) {
        self.now += 1;
        self.schedule_pods();
        for index in 0..self.runs.len() {
            self.progress(index);
        }
        // Wake-ups may cause further reconciliations in the same second.
        for _ in 0..20 {
            let due: Vec<_> = (0..self.runs.len()).filter(|index| self.is_due(*index)).collect();
            if due.is_empty() {
                break;
            }
            let first = self.below(due.len() as u64) as usize;
            for offset in 0..due.len() {
                self.reconcile(due[(first + offset) % due.len()]);
            }
        }
        self.measure_waits();
    }

    fn is_due(&self, index: usize) -> bool {
        let run = &self.runs[index];
        run.created <= self.now && (run.changed || run.timer.is_some_and(|timer| timer <= self.now))
    }

    fn schedule_pods(&mut self) {
        let taken = self
            .runs
            .iter()
            .flat_map(|run| &run.pods)
            .filter_map(|pod| pod.node);
        let mut free: BTreeSet<_> = (0..self.nodes).collect();
        taken.for_each(|node| {
            free.remove(&node);
        });
        let start = self.below(self.runs.len() as u64) as usize;
        let now = self.now;
        for offset in 0..self.runs.len() {
            let index = (start + offset) % self.runs.len();
            let run = &mut self.runs[index];
            if matches!(run.kind, Unschedulable) || run.job_at == Some(now) {
                continue;
            }
            for pod in run
                .pods
                .iter_mut()
                .filter(|pod| pod.node.is_none() && pod.gone_at.is_none())
            {
                let fits = |node: &&usize| {
                    run.candidates.contains(node) && (run.kept.is_empty() || run.kept.contains(node))
                };
                let Some(node) = free.iter().find(fits).copied() else {
                    break;
                };
                free.remove(&node);
                pod.node = Some(node);
                pod.scheduled_at = now;
                run.changed = true;
            }
        }
    }

    /// Starts and ends the pods of one run.
    fn progress(&mut self, index: usize) {
        let now = self.now;
        let duration = 20 + self.below(60) as i64;
        let run = &mut self.runs[index];
        let before = run.pods.len();
        run.pods
            .retain(|pod| pod.gone_at.is_none_or(|gone_at| gone_at > now));
        run.changed |= run.pods.len() != before;
        let Some(job_at) = run.job_at else { return };
        let placed = run.pods.iter().filter(|pod| pod.node.is_some()).count() == WORKERS;
        if !placed {
            run.pending += i64::from(!run.blocked);
        }
        if run.pending >= PENDING_DEADLINE {
            run.delete_pods(now);
            run.finished = true;
            return;
        }
        let scheduled_at = run
            .pods
            .iter()
            .map(|pod| pod.scheduled_at)
            .max()
            .unwrap_or(job_at);
        match (run.kind, run.running_until) {
            (MissingVolume, _) => run.pending += i64::from(placed),
            (MissingImage, _) if placed && now >= scheduled_at + IMAGE_TIMEOUT => {
                run.disruptions += 1;
                run.lose_place(now);
                run.finished = run.disruptions > 2;
            }
            (MissingImage, _) => {}
            (_, None) if placed && now >= scheduled_at + 2 => {
                run.pods.iter_mut().for_each(|pod| pod.started = true);
                run.kept = run.pods.iter().filter_map(|pod| pod.node).collect();
                (run.lost_places, run.pending, run.retry_at) = (0, 0, 0);
                run.last_turn = Some(now);
                run.first_placed.get_or_insert(now);
                run.running_until = Some(now + duration);
                run.changed = true;
            }
            (_, Some(until)) if now >= until || run.preemptions_left > 0 && now + 10 >= until => {
                match now >= until {
                    true => run.legs_left -= 1,
                    false => run.preemptions_left -= 1,
                }
                run.finished = run.legs_left == 0;
                run.delete_pods(now);
            }
            _ => {}
        }
    }

    /// Adds a second to the waits of the runs that are behind runs that cannot be placed.
    fn measure_waits(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.behind = self.find_runs_behind();
        }
        for (run, behind) in self.runs.iter_mut().zip(&self.behind) {
            run.behind = behind.map_or(0, |behind| run.behind + i64::from(behind));
            run.longest_behind = run.longest_behind.max(run.behind);
        }
    }

    fn find_runs_behind(&self) -> Vec<Option<bool>> {
        let state = self.reservations.0.lock().unwrap();
        let kinds: BTreeMap<_, _> = self.runs.iter().map(|run| (&run.key, run.kind)).collect();
        let mut known = BTreeMap::new();
        let runs = self.runs.iter().map(|run| {
            let waits = run.kind.can_be_placed() && run.job_at.is_none();
            let request = state.requests.get(&run.key).filter(|_| waits)?;
            Some(self.is_behind(request, &state, &kinds, &mut known))
        });
        runs.collect()
    }

    /// Whether the chain of runs that wait for each other ends at a run that cannot be placed. `known` holds the answers
    /// for the runs that were asked before.
    fn is_behind<'a>(
        &self,
        request: &'a PlacementRequest,
        state: &'a State,
        kinds: &BTreeMap<&RunKey, Kind>,
        known: &mut BTreeMap<&'a RunKey, bool>,
    ) -> bool {
        let can_be_placed = kinds[&request.run].can_be_placed();
        if request.stage != PlacementStage::Requesting {
            return !can_be_placed;
        }
        if let Some(known) = known.get(&request.run) {
            return *known;
        }
        let standing = standing(request, state.requests.values(), &state.turns, second(self.now));
        let next = standing.precedes.or(standing.occupies);
        let behind = match next {
            Some(next) => self.is_behind(next, state, kinds, known),
            None => !can_be_placed,
        };
        known.insert(&request.run, behind);
        behind
    }

    /// Maximum time that a run of `namespace` may wait behind runs that cannot be placed: one turn of each other
    /// namespace. Gangs that a queue admits do not wait for a turn, so all of them count.
    fn bound(&self, namespace: &str) -> i64 {
        let mut turns: BTreeMap<&str, i64> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.key.namespace != namespace) {
            let turn = turns.entry(&run.key.namespace).or_default();
            match run.kind.is_queued() {
                true => *turn += run.turns * run.kind.longest_turn(),
                false => *turn = (*turn).max(run.kind.longest_turn()),
            }
        }
        turns.values().sum()
    }

    pub(super) fn run_to_end(&mut self, limit: i64) {
        let end = self.now + limit;
        while self.now < end && self.runs.iter().any(|run| !run.finished) {
            self.step();
        }
        for run in &self.runs {
            assert!(run.finished, "after {limit} s, not finished: {run:?}");
            if run.kind.can_be_placed() {
                let bound = self.bound(&run.key.namespace);
                assert!(run.longest_behind <= bound, "bound {bound} s: {run:?}");
                assert_eq!(run.legs_left, 0, "{run:?}");
            }
        }
    }

    fn good_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.kind.can_be_placed())
    }

    /// Longest wait of any run behind runs that cannot be placed.
    pub(super) fn longest_behind(&self) -> i64 {
        self.good_runs().map(|run| run.longest_behind).max().unwrap()
    }

    pub(super) fn print_figures(&self, scenario: &str) {
        let bounds = self.good_runs().map(|run| self.bound(&run.key.namespace));
        println!(
            "{scenario}, {} nodes: longest wait behind runs that cannot be placed {} s (bound {} s), {} lost places",
            self.nodes,
            self.longest_behind(),
            bounds.max().unwrap(),
            self.lost_places
        );
    }
}

impl Run {
    fn delete_pods(&mut self, now: i64) {
        for pod in &mut self.pods {
            pod.gone_at = Some(now + if pod.started { 2 } else { GRACE });
        }
        self.pods.retain(|pod| pod.node.is_some());
        (self.job_at, self.running_until, self.changed) = (None, None, true);
    }

    fn lose_place(&mut self, now: i64) {
        self.lost_places += 1;
        self.retry_at = now + retry_delay(self.lost_places).as_secs() as i64;
        self.delete_pods(now);
    }
}

fn name(node: usize) -> String {
    format!("node-{node:02}")
}
