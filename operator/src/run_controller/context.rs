//! State shared by all reconciliations: caches, clients, queue and configuration. Performs no I/O.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crds::v1alpha1::{BenchmarkRun, PreflightMode, State};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::Semaphore;

use super::build::resources::WorkerResources;
use super::observed::{JobState, PodState, Preflight};
use super::preflight::{NodeState, Requirements, eligible_nodes, preflight};
use super::queue::Queue;
use super::reservations::Reservations;
use super::session::Sessions;
use super::store::{Cache, CachedRun, Child, ChildKey, RunKey};
use super::update_status::Writer;
use crate::client::Clock;
use crate::metrics::RunValues;
use crate::metrics::operator::Metrics;
use crate::options::Namespaces;
use crate::options::OperatorConfig;

/// UID and generation of an unreadable object.
type UnreadableVersion = (Option<String>, Option<i64>);

/// State shared by all reconciliations.
pub(super) struct Context {
    /// The runs.
    pub(super) runs: Cache<RunKey, CachedRun>,
    /// The Jobs of the runs.
    pub(super) jobs: Cache<ChildKey, Child<JobState>>,
    /// The pods of the runs.
    pub(super) pods: Cache<ChildKey, Child<PodState>>,
    /// The nodes; `None` if the operator is not permitted to read them.
    pub(super) nodes: Option<Cache<String, NodeState>>,
    /// The placement requests of all runs in progress.
    pub(super) reservations: Reservations,
    /// The in-memory state of the runs in progress.
    pub(super) sessions: Sessions,
    /// Queue of the runs to reconcile.
    pub(super) queue: Queue,
    /// Writer for statuses. Its client is also used for all other rate-limited requests.
    pub(super) writer: Writer,
    /// Client without a rate limit or timeouts, for log requests that stay open.
    pub(super) unlimited: Client,
    /// The API server's clock, from which all times are taken.
    pub(super) clock: Clock,
    /// Metrics of the operator.
    pub(super) metrics: Metrics,
    /// Slots for concurrent evaluations and analyses.
    pub(super) evaluations: Semaphore,
    /// Configuration of the operator that applies to all runs.
    pub(super) config: OperatorConfig,
    /// The watched namespaces.
    pub(super) namespaces: Namespaces,
    /// Warning added to every status.
    pub(super) warning: Option<&'static str>,
    /// Unreadable objects that have already been reported.
    pub(super) unreadable: Mutex<HashMap<RunKey, UnreadableVersion>>,
}

impl Context {
    /// Returns the current time in whole seconds, for decisions and for everything that they are compared with. The status
    /// and API objects hold whole seconds, so decisions must not depend on fractions of a second. The order of turns does.
    pub(super) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// Returns the metrics of every run.
    pub(super) fn run_metrics(&self) -> Vec<Arc<RunValues>> {
        self.runs
            .all()
            .into_iter()
            .filter_map(CachedRun::metrics)
            .collect()
    }

    /// Returns the index of the watch that covers `namespace`.
    pub(super) fn watch_scope(&self, namespace: &str) -> usize {
        match &self.namespaces {
            Namespaces::All => 0,
            Namespaces::Only(names) => names.iter().position(|name| name == namespace).unwrap_or(0),
        }
    }

    /// Checks whether enough nodes meet the requirements of `run`'s workers. `earlier_nodes` are the nodes of its
    /// earlier attempts.
    pub(super) fn preflight(&self, run: &BenchmarkRun, earlier_nodes: &[String]) -> Preflight {
        let Some(nodes) = &self.nodes else {
            return Preflight::Skipped;
        };
        let requirements = self.requirements(run, earlier_nodes);
        match preflight(&requirements, &nodes.all()) {
            Ok(candidates) => Preflight::Passed {
                nodes: candidates.nodes,
            },
            Err(error) => match error.mode(&requirements) {
                PreflightMode::Wait => Preflight::Rejected(error.to_string()),
                PreflightMode::Warn => Preflight::Warned(error.to_string()),
            },
        }
    }

    /// Returns the nodes on which a worker of `run` may run, even if there are too few of them; `None` if the operator is
    /// not permitted to read nodes and the run has no nodes of earlier attempts, `earlier_nodes`.
    pub(super) fn eligible_nodes(
        &self,
        run: &BenchmarkRun,
        earlier_nodes: &[String],
    ) -> Option<BTreeSet<String>> {
        match &self.nodes {
            Some(nodes) => Some(eligible_nodes(
                &self.requirements(run, earlier_nodes),
                &nodes.all(),
            )),
            None if earlier_nodes.is_empty() => None,
            None => Some(earlier_nodes.iter().cloned().collect()),
        }
    }

    /// Whether the nodes that are eligible for `run` have zone labels. If too few nodes are eligible, one node with a
    /// zone label anywhere in the cluster is sufficient. Returns `true` if the operator is not permitted to read nodes
    /// or the cluster has no nodes.
    pub(super) fn zones_are_known(&self, run: &BenchmarkRun, earlier_nodes: &[String]) -> bool {
        let nodes = self.nodes.as_ref();
        nodes.is_none_or(|nodes| {
            let requirements = self.requirements(run, earlier_nodes);
            let nodes = nodes.all();
            match preflight(&requirements, &nodes) {
                Ok(candidates) => candidates.zoned,
                Err(_) => nodes.is_empty() || nodes.iter().any(|node| node.zone().is_some()),
            }
        })
    }

    fn requirements<'a>(&self, run: &'a BenchmarkRun, earlier_nodes: &'a [String]) -> Requirements<'a> {
        Requirements {
            placement: &run.spec.placement,
            resources: WorkerResources::new(&run.spec.resources, &self.config),
            nodes: earlier_nodes,
        }
    }

    /// Enqueues the pending runs. Called when a node has changed.
    pub(super) fn enqueue_pending(&self) {
        let pending = |stored: &CachedRun| match stored {
            CachedRun::Run(_, metrics) => matches!(metrics.state, None | Some(State::Pending)),
            CachedRun::Unreadable(_) => false,
        };
        for key in self.runs.keys(pending) {
            self.queue.add(key);
        }
    }

    /// Removes the in-memory state of a deleted run, and enqueues the runs that it blocked.
    pub(super) fn forget(&self, key: &RunKey) {
        self.sessions.forget(key);
        self.clear_reported(key);
        for unblocked in self.reservations.release(key, self.clock.now()) {
            self.queue.add(unblocked);
        }
    }

    /// Marks `version` of an unreadable object as reported. Returns `false` if it was already marked.
    pub(super) fn mark_reported(&self, key: &RunKey, version: UnreadableVersion) -> bool {
        let mut reported = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert(key.clone(), version.clone()) != Some(version)
    }

    /// Forgets that an unreadable object has been reported.
    pub(super) fn clear_reported(&self, key: &RunKey) {
        let mut reported = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        reported.remove(key);
    }
}
