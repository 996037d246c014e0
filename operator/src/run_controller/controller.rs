//! Connects the watches, the queue and the reconciliations. Performs I/O.

use std::pin::Pin;
use std::sync::Arc;

use crds::names;
use futures::future::{join_all, try_join_all};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::{NamespaceResourceScope, Resource as _};
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use snafu::Snafu;
use tokio::sync::{Semaphore, oneshot};
use tracing::info;

use super::context::Context;
use super::preflight::NodeState;
use super::queue::Queue;
use super::reconcile::reconcile;
use super::reservations::Reservations;
use super::reserve;
use super::session::Sessions;
use super::store::{self, Cache, CachedRun, Child, RunKey, WatchScope};
use super::update_status::Writer;
use crate::client::Clients;
use crate::metrics::operator::Metrics;
use crate::options::{Namespaces, Options};
use crate::readiness::Readiness;
use crate::results::Results;
use crate::shutdown::Shutdown;
use crds::v1alpha1::BenchmarkRun;

/// Reporting controller name in events.
const CONTROLLER: &str = "fabricbench-operator";
/// Warning added to every status if the operator is not permitted to read nodes.
pub(super) const NO_PREFLIGHT: &str = "the operator is not permitted to read nodes in this installation, so it did not check \
                            whether the nodes have zone labels and the resources that the workers request. Set \
                            placement.singleZone to false if the nodes have no zone labels";

/// Error that stops the controller.
#[derive(Debug, Snafu)]
pub(crate) enum ControllerError {
    /// A watch ended, although watches restart after every failure.
    #[snafu(display("a watch ended unexpectedly"))]
    WatchEnded,
}

/// A watch that runs until the process ends.
type Watch<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Runs the controller until `shutdown`.
///
/// # Errors
/// Returns [`ControllerError::WatchEnded`] if a watch ends, which is a bug.
pub(crate) async fn run(
    options: &Options,
    clients: Clients,
    metrics: &Metrics,
    readiness: &Readiness,
    results: &Results,
    mut shutdown: Shutdown,
) -> Result<(), ControllerError> {
    readiness.set_caches_complete(false);
    let queue = Queue::new(options.concurrency.into(), metrics.clone());
    let context = Arc::new(context(options, &clients, metrics, queue));
    let mut watches = Watches::new(&clients.unlimited, options.series.per_run);
    for (number, namespace) in options.namespaces.scopes().into_iter().enumerate() {
        watches.add(number, namespace.as_deref(), &context);
    }
    watches.add_nodes(&context);
    let Watches {
        complete, running, ..
    } = watches;

    let process = async {
        // Decisions need complete caches: if a cache is incomplete, existing pods would appear to be gone.
        tokio::select! {
            () = shutdown.requested() => return Ok(()),
            listed = try_join_all(complete) => listed.map_err(|_| ControllerError::WatchEnded)?,
        };
        // The gangs that are already being placed must be registered before another gang is created.
        let now = context.clock.now();
        for run in context.runs.all() {
            reserve::register_existing_gang(&context, &run, now);
        }
        readiness.set_caches_complete(true);
        let shared = Arc::clone(&context);
        results.set_source(move || shared.run_metrics());
        info!("the caches are synced");
        let reconcile = |key| reconcile(Arc::clone(&context), key);
        context.queue.process(shutdown.clone(), reconcile).await;
        Ok(())
    };
    tokio::select! {
        ended = process => ended,
        _ = join_all(running) => Err(ControllerError::WatchEnded),
    }
}

fn context(options: &Options, clients: &Clients, metrics: &Metrics, queue: Queue) -> Context {
    let reporter = Reporter {
        controller: CONTROLLER.to_owned(),
        instance: None,
    };
    Context {
        runs: Cache::new(),
        jobs: Cache::new(),
        pods: Cache::new(),
        nodes: match options.namespaces {
            Namespaces::All => Some(Cache::new()),
            Namespaces::Only(_) => None,
        },
        reservations: Reservations::default(),
        sessions: Sessions::default(),
        queue,
        writer: Writer {
            client: clients.limited.clone(),
            recorder: Recorder::new(clients.limited.clone(), reporter),
            metrics: metrics.clone(),
        },
        unlimited: clients.unlimited.clone(),
        clock: clients.clock.clone(),
        metrics: metrics.clone(),
        evaluations: Semaphore::new(options.evaluation_threads),
        config: options.config.clone(),
        namespaces: options.namespaces.clone(),
        warning: match options.namespaces {
            Namespaces::All => None,
            Namespaces::Only(_) => Some(NO_PREFLIGHT),
        },
        unreadable: Default::default(),
    }
}

/// The watches, each with a signal that its initial list is complete.
struct Watches<'a> {
    client: &'a Client,
    /// Maximum number of metric series per run.
    max_series: usize,
    complete: Vec<oneshot::Receiver<()>>,
    running: Vec<Watch<'a>>,
}

impl<'a> Watches<'a> {
    fn new(client: &'a Client, max_series: usize) -> Self {
        Self {
            client,
            max_series,
            complete: Vec::new(),
            running: Vec::new(),
        }
    }

    /// Adds the watches for runs, and for the Jobs and pods with the operator's label, in one namespace or in all
    /// namespaces.
    fn add(&mut self, number: usize, namespace: Option<&str>, context: &'a Context) {
        // Runs are watched as dynamic objects, because a single object that cannot be read as a run would break a typed
        // watch for all runs.
        let resource = ApiResource::erase::<BenchmarkRun>(&());
        let runs = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let runs = self.scope(number, "BenchmarkRun", runs, None);
        let max_series = self.max_series;
        let extract = move |object: DynamicObject| {
            let key = RunKey::from_metadata(&object.metadata)?;
            Some((key, CachedRun::new(object, max_series)))
        };
        let changed = |key: &RunKey, _: &CachedRun| context.queue.add(key.clone());
        self.running
            .push(Box::pin(store::watch(runs, &context.runs, extract, changed)));

        let selector = format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY);
        let jobs = self.children::<Job>(number, Job::KIND, namespace, &selector);
        let changed = |_: &_, child: &Child<_>| context.queue.add(child.run.clone());
        let watch = store::watch(
            jobs,
            &context.jobs,
            |job| store::job_entry(&job, context.now()),
            changed,
        );
        self.running.push(Box::pin(watch));

        let pods = self.children::<Pod>(number, Pod::KIND, namespace, &selector);
        let changed = |_: &_, child: &Child<_>| context.queue.add(child.run.clone());
        let watch = store::watch(
            pods,
            &context.pods,
            |pod| store::pod_entry(&pod, context.now(), &context.pods),
            changed,
        );
        self.running.push(Box::pin(watch));
    }

    /// Adds the watch for nodes if the operator is permitted to read them.
    fn add_nodes(&mut self, context: &'a Context) {
        let Some(cache) = &context.nodes else { return };
        let nodes = self.scope(0, Node::KIND, Api::<Node>::all(self.client.clone()), None);
        let extract = |node: Node| {
            let state = NodeState::from_node(&node);
            Some((state.name.clone(), state))
        };
        let changed = |_: &String, _: &NodeState| context.enqueue_pending();
        self.running
            .push(Box::pin(store::watch(nodes, cache, extract, changed)));
    }

    /// Creates the scope of a watch for the objects that match the label selector `labels`.
    fn children<T>(
        &mut self,
        number: usize,
        kind: &'static str,
        namespace: Option<&str>,
        labels: &str,
    ) -> WatchScope<T>
    where
        T: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let client = self.client.clone();
        let api = match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        self.scope(number, kind, api, Some(labels))
    }

    fn scope<T>(
        &mut self,
        number: usize,
        kind: &'static str,
        api: Api<T>,
        labels: Option<&str>,
    ) -> WatchScope<T> {
        let (complete, receiver) = oneshot::channel();
        self.complete.push(receiver);
        let config = watcher::Config::default();
        WatchScope {
            number,
            kind,
            api,
            config: match labels {
                Some(labels) => config.labels(labels),
                None => config,
            },
            complete,
        }
    }
}
