//! What every look at a run may use.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crds::v1alpha1::{BenchmarkRun, State};
use kube::Client;
use tokio::sync::Semaphore;

use super::build::Installation;
use super::build::resources::WorkerResources;
use super::observed::{JobState, PodState, Preflight};
use super::preflight::{NodeState, Wanted, preflight};
use super::queue::Queue;
use super::session::Sessions;
use super::store::{Child, ChildKey, Mirror, RunKey, StoredRun};
use super::turns::Turns;
use super::update_status::Writer;
use crate::manager::Namespaces;
use crate::metrics::RunValues;
use crate::metrics::operator::Metrics;

/// UID and generation of an object that cannot be read.
type UnreadableVersion = (Option<String>, Option<i64>);

/// What every look at a run may use.
pub(super) struct Context {
    /// The runs there are.
    pub(super) runs: Mirror<RunKey, StoredRun>,
    /// Their Jobs.
    pub(super) jobs: Mirror<ChildKey, Child<JobState>>,
    /// Their pods.
    pub(super) pods: Mirror<ChildKey, Child<PodState>>,
    /// The nodes there are; nothing where they may not be read.
    pub(super) nodes: Option<Mirror<String, NodeState>>,
    /// Who places a gang, and who wants to.
    pub(super) turns: Turns,
    /// What this process knows of runs that are going on.
    pub(super) sessions: Sessions,
    /// Asks for looks at runs.
    pub(super) queue: Queue,
    /// The way to write statuses, and to everything else within the limits.
    pub(super) writer: Writer,
    /// For logs, which may stay open for long.
    pub(super) unlimited: Client,
    /// The operator's own metrics.
    pub(super) metrics: Metrics,
    /// Statistics that may be computed now.
    pub(super) evaluations: Semaphore,
    /// What the installation decides.
    pub(super) installation: Installation,
    /// Where runs are looked for.
    pub(super) namespaces: Namespaces,
    /// What every status of this installation warns of.
    pub(super) warning: Option<&'static str>,
    /// Unreadable objects whose status says so.
    pub(super) unreadable: Mutex<HashMap<RunKey, UnreadableVersion>>,
}

impl Context {
    /// What the metrics need of every run.
    pub(super) fn figures(&self) -> Vec<Arc<RunValues>> {
        self.runs
            .all()
            .into_iter()
            .filter_map(StoredRun::figures)
            .collect()
    }

    /// Number of the watch that sees the objects of `namespace`.
    pub(super) fn scope_of(&self, namespace: &str) -> usize {
        match &self.namespaces {
            Namespaces::All => 0,
            Namespaces::Only(names) => names.iter().position(|name| name == namespace).unwrap_or(0),
        }
    }

    /// Whether the nodes have what the workers of `run` ask for, and which of them do; `before` are those of its attempts.
    pub(super) fn preflight(
        &self,
        run: &BenchmarkRun,
        before: &[String],
    ) -> (Preflight, Option<BTreeSet<String>>) {
        let Some(nodes) = &self.nodes else {
            return (Preflight::Skipped, None);
        };
        match preflight(&self.wanted(run, before), &nodes.all()) {
            Ok(candidates) => (Preflight::Passed, Some(candidates.nodes)),
            Err(unfit) => (Preflight::Refused(unfit.to_string()), None),
        }
    }

    /// Whether the nodes that fit `run` say in which zone they are. Unknown nodes are taken to.
    pub(super) fn zoned(&self, run: &BenchmarkRun, before: &[String]) -> bool {
        let nodes = self.nodes.as_ref();
        nodes.is_none_or(|nodes| {
            preflight(&self.wanted(run, before), &nodes.all()).is_ok_and(|candidates| candidates.zoned)
        })
    }

    fn wanted<'a>(&self, run: &'a BenchmarkRun, before: &'a [String]) -> Wanted<'a> {
        Wanted {
            placement: &run.spec.placement,
            resources: WorkerResources::of(&run.spec.resources, &self.installation),
            nodes: before,
        }
    }

    /// Nodes changed: runs without workers may find some now.
    pub(super) fn wake_pending(&self) {
        let pending = |stored: &StoredRun| match stored {
            StoredRun::Run(_, figures) => matches!(figures.state, None | Some(State::Pending)),
            StoredRun::Unreadable(_) => false,
        };
        for key in self.runs.keys(pending) {
            self.queue.add(key);
        }
    }

    /// The run is gone: nothing of it is kept, and others may have their turn.
    pub(super) fn forget(&self, key: &RunKey) {
        self.sessions.forget(key);
        self.tell_again(key);
        for next in self.turns.forget(key) {
            self.queue.add(next);
        }
    }

    /// Whether `version` of an unreadable object is new.
    pub(super) fn tell_once(&self, key: &RunKey, version: UnreadableVersion) -> bool {
        let mut told = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(key.clone(), version.clone()) != Some(version)
    }

    /// Its status does not say so.
    pub(super) fn tell_again(&self, key: &RunKey) {
        let mut told = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(key);
    }
}
