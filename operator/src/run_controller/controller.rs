//! Wires watches, queue and looks together. I/O.

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
use super::observe;
use super::preflight::NodeState;
use super::queue::{self, Queue};
use super::reconcile;
use super::session::Sessions;
use super::store::{self, Child, Mirror, RunKey, Scope, StoredRun};
use super::turns::Turns;
use super::update_status::Writer;
use crate::manager::{Clients, Namespaces, Options, Readiness, Results, Shutdown};
use crate::metrics::operator::Metrics;
use crds::v1alpha1::BenchmarkRun;

/// Name of the controller in events.
const CONTROLLER: &str = "fabricbench-operator";
/// What every status of an installation without a look at nodes warns of.
const NO_PREFLIGHT: &str = "this installation may not read nodes: whether they have what the workers ask for was not \
                            checked before, nor whether they say in which zone they are: where they do not, \
                            placement.singleZone must be false";

/// Why the controller ended by itself.
#[derive(Debug, Snafu)]
pub enum ControllerError {
    /// A watch that begins again for ever did not.
    #[snafu(display("a watch ended by itself"))]
    WatchEnded,
}

/// A watch that runs for as long as the process.
type Watch<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Carries out the runs of the cluster until `shutdown`.
///
/// # Errors
/// When a watch ends, which none does.
pub(crate) async fn run(
    options: &Options,
    clients: Clients,
    metrics: &Metrics,
    readiness: &Readiness,
    results: &Results,
    mut shutdown: Shutdown,
) -> Result<(), ControllerError> {
    readiness.caches_complete(false);
    let (queue, requests) = Queue::new(metrics.clone());
    let context = Arc::new(context(options, &clients, metrics, queue));
    let mut watches = Watches::new(&clients.unlimited, options.series.per_run);
    for (number, namespace) in scopes(&options.namespaces).into_iter().enumerate() {
        watches.add(number, namespace.as_deref(), &context);
    }
    watches.add_nodes(&context);
    let Watches {
        complete, running, ..
    } = watches;

    let looks = async {
        // Decisions need all that there is: a list that is not complete looks like pods that are gone.
        tokio::select! {
            () = shutdown.requested() => return Ok(()),
            listed = try_join_all(complete) => listed.map_err(|_| ControllerError::WatchEnded)?,
        };
        // Gangs that are half placed are known before any other is created.
        context
            .runs
            .all()
            .iter()
            .for_each(|run| observe::note_gang(&context, run));
        readiness.caches_complete(true);
        let known = Arc::clone(&context);
        results.set_source(move || known.figures());
        info!("the caches are complete");
        let look = |key| reconcile::look(Arc::clone(&context), key);
        let concurrency = options.concurrency.into();
        // A thousand runs at once leave as much freed as used behind.
        let rest = heap_trim::trim;
        queue::work(
            &context.queue,
            requests,
            concurrency,
            shutdown.clone(),
            look,
            rest,
        )
        .await;
        Ok(())
    };
    tokio::select! {
        ended = looks => ended,
        _ = join_all(running) => Err(ControllerError::WatchEnded),
    }
}

fn context(options: &Options, clients: &Clients, metrics: &Metrics, queue: Queue) -> Context {
    let reporter = Reporter {
        controller: CONTROLLER.to_owned(),
        instance: None,
    };
    Context {
        runs: Mirror::new(),
        jobs: Mirror::new(),
        pods: Mirror::new(),
        nodes: match options.namespaces {
            Namespaces::All => Some(Mirror::new()),
            Namespaces::Only(_) => None,
        },
        turns: Turns::default(),
        sessions: Sessions::default(),
        queue,
        writer: Writer {
            client: clients.limited.clone(),
            recorder: Recorder::new(clients.limited.clone(), reporter),
            metrics: metrics.clone(),
        },
        unlimited: clients.unlimited.clone(),
        metrics: metrics.clone(),
        evaluations: Semaphore::new(options.evaluation_threads),
        installation: options.installation.clone(),
        namespaces: options.namespaces.clone(),
        warning: match options.namespaces {
            Namespaces::All => None,
            Namespaces::Only(_) => Some(NO_PREFLIGHT),
        },
        unreadable: Default::default(),
    }
}

/// The namespaces to watch one by one; `None` for all at once.
fn scopes(namespaces: &Namespaces) -> Vec<Option<String>> {
    match namespaces {
        Namespaces::All => vec![None],
        Namespaces::Only(names) => names.iter().cloned().map(Some).collect(),
    }
}

/// The watches, and when their first lists are complete.
struct Watches<'a> {
    client: &'a Client,
    /// Most series of one run.
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

    /// Watches runs, and the Jobs and pods that bear our label, in one namespace or in all.
    fn add(&mut self, number: usize, namespace: Option<&str>, context: &'a Context) {
        // Not as runs yet: one that cannot be read as a run must not end the watch of all.
        let resource = ApiResource::erase::<BenchmarkRun>(&());
        let runs = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let runs = self.scope(number, "BenchmarkRun", runs, None);
        let max_series = self.max_series;
        let keep = move |object: DynamicObject| {
            let key = RunKey::of(&object.metadata)?;
            Some((key, StoredRun::new(object, max_series)))
        };
        let changed = |key: &RunKey, _: &StoredRun| context.queue.add(key.clone());
        self.running
            .push(Box::pin(store::watch(runs, &context.runs, keep, changed)));

        let ours = format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY);
        let jobs = self.children::<Job>(number, Job::KIND, namespace, &ours);
        let changed = |_: &_, child: &Child<_>| context.queue.add(child.run.clone());
        let watch = store::watch(jobs, &context.jobs, |job| store::job(&job), changed);
        self.running.push(Box::pin(watch));

        let pods = self.children::<Pod>(number, Pod::KIND, namespace, &ours);
        let changed = |_: &_, child: &Child<_>| context.queue.add(child.run.clone());
        let watch = store::watch(pods, &context.pods, |pod| store::pod(&pod), changed);
        self.running.push(Box::pin(watch));
    }

    /// Watches the nodes, where they may be read.
    fn add_nodes(&mut self, context: &'a Context) {
        let Some(mirror) = &context.nodes else { return };
        let nodes = self.scope(0, Node::KIND, Api::<Node>::all(self.client.clone()), None);
        let keep = |node: Node| {
            let state = NodeState::of(&node);
            Some((state.name.clone(), state))
        };
        let changed = |_: &String, _: &NodeState| context.wake_pending();
        self.running
            .push(Box::pin(store::watch(nodes, mirror, keep, changed)));
    }

    /// The objects with these labels.
    fn children<T>(
        &mut self,
        number: usize,
        kind: &'static str,
        namespace: Option<&str>,
        labels: &str,
    ) -> Scope<T>
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

    fn scope<T>(&mut self, number: usize, kind: &'static str, api: Api<T>, labels: Option<&str>) -> Scope<T> {
        let (complete, receiver) = oneshot::channel();
        self.complete.push(receiver);
        let config = watcher::Config::default();
        Scope {
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
