//! `fabricbench logs`: what the workers of a run in the cluster wrote. I/O.

mod started;

use std::collections::BTreeMap;
use std::io::Write;
use std::pin::pin;

use clap::Args;
use crds::v1alpha1::{BenchmarkRun, State};
use futures::io::AsyncBufReadExt;
use futures::stream::FuturesUnordered;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};

use self::started::started;
use super::cluster::{self, Cluster};
use super::source::Source;
use super::standing::standing;
use super::{Exit, Failure};
use crate::run_controller::RunKey;
use crate::run_controller::build::WORKER_CONTAINER;
use crate::run_controller::build::labels::selector;

/// Most pods whose logs are read at a time.
const PODS: usize = 64;

/// Show what the workers of a run in the cluster wrote, each line after the name of its pod.
///
/// Worker 0 writes the records, a JSON object a line. Logs go with their pods; the records stay, and `fabricbench report`
/// reads them.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench logs default/nixl-optimizations --tail 5")]
pub(super) struct Logs {
    /// The run, as NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    run: Source,
    /// Go on as lines are written and pods start, until the run and its pods end.
    #[arg(long, short)]
    follow: bool,
    /// Most lines of the past, of each pod.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..=1_000_000)
    )]
    tail: i64,
}

impl Logs {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let Source::Cluster(key) = &self.run else {
            return Err(Failure::wrong_file(format!(
                "{}: name a run in the cluster as NAMESPACE/NAME; a folder has its records in records.jsonl",
                self.run
            )));
        };
        match cluster::block_on(self.show(key))? {
            true => Ok(Exit::Complete),
            // Each pod has said why.
            false => Err(Failure::incomplete("")),
        }
    }

    /// Whether any log was there to be shown.
    async fn show(&self, key: &RunKey) -> Result<bool, Failure> {
        let cluster = Cluster::of(key).await?;
        let run = cluster.run(key).await?;
        let selector = selector(&run.uid().unwrap_or_default());
        let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &key.namespace);
        if self.follow && !has_ended(Some(&run)) {
            return self.follow(&cluster, key, &run, &api, &selector).await;
        }
        let pods = api.list(&ListParams::default().labels(&selector)).await;
        let mut pods = pods.map_err(|error| cluster.refused(key, &error))?.items;
        if pods.is_empty() {
            return Err(Failure::incomplete(format!("{key}: {}", no_pods(key, &run))));
        }
        // In the order of legs and attempts.
        pods.sort_by_key(ResourceExt::name_any);
        let mut ready = Vec::new();
        for pod in &pods {
            match started(pod) {
                Ok(()) => ready.push(pod.name_any()),
                Err(why) => not_started(&pod.name_any(), &why)?,
            }
        }
        let logs = ready.into_iter().map(|pod| self.copy(&api, pod));
        let logs = futures::stream::iter(logs).buffer_unordered(PODS);
        logs.try_fold(false, async |any, shown| Ok(any || shown)).await
    }

    /// Copies the logs of pods as they start, until `run` has ended and so have they.
    async fn follow(
        &self,
        cluster: &Cluster,
        key: &RunKey,
        run: &BenchmarkRun,
        api: &Api<Pod>,
        selector: &str,
    ) -> Result<bool, Failure> {
        if let Some(standing) = standing(run) {
            writeln!(std::io::stderr(), "{key}: {standing}")?;
        }
        let runs: Api<BenchmarkRun> = Api::namespaced(cluster.client.clone(), &key.namespace);
        let mut runs = pin!(watcher::watch_object(runs, &key.name).default_backoff());
        let pods = watcher(api.clone(), watcher::Config::default().labels(selector));
        let mut pods = pin!(pods.default_backoff().applied_objects());
        // Of each pod what was last said of it; nothing once its log is copied.
        let mut seen: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut logs = FuturesUnordered::new();
        let mut any = false;
        loop {
            tokio::select! {
                Some(pod) = pods.next() => {
                    let Some(pod) = watched(cluster, key, pod)? else { continue };
                    let name = pod.name_any();
                    let said = seen.get(&name);
                    match started(&pod) {
                        _ if said == Some(&None) => {}
                        Ok(()) => {
                            logs.push(self.copy(api, name.clone()));
                            seen.insert(name, None);
                        }
                        Err(why) if said.and_then(Option::as_ref) != Some(&why) => {
                            not_started(&name, &why)?;
                            seen.insert(name, Some(why));
                        }
                        Err(_) => {}
                    }
                }
                Some(shown) = logs.next() => any |= shown?,
                Some(run) = runs.next() => {
                    if watched(cluster, key, run)?.is_some_and(|run| has_ended(run.as_ref())) {
                        break;
                    }
                }
            }
        }
        while let Some(shown) = logs.next().await {
            any |= shown?;
        }
        if seen.is_empty() {
            let run = cluster.run(key).await?;
            return Err(Failure::incomplete(format!("{key}: {}", no_pods(key, &run))));
        }
        Ok(any)
    }

    /// Copies the log of one pod to standard output, and tells whether there was one; a pod that has none says why.
    async fn copy(&self, api: &Api<Pod>, pod: String) -> Result<bool, Failure> {
        let params = LogParams {
            container: Some(WORKER_CONTAINER.to_owned()),
            follow: self.follow,
            tail_lines: Some(self.tail),
            ..LogParams::default()
        };
        let mut lines = match api.log_stream(&pod, &params).await {
            Ok(log) => log.lines(),
            Err(error) => {
                writeln!(std::io::stderr(), "{pod}: {}", cluster::words(&error))?;
                return Ok(false);
            }
        };
        while let Some(line) = lines.try_next().await? {
            writeln!(std::io::stdout(), "{pod} {line}")?;
        }
        Ok(true)
    }
}

/// What a watch gives; nothing where it was interrupted, for it begins anew by itself.
fn watched<T>(
    cluster: &Cluster,
    key: &RunKey,
    event: Result<T, watcher::Error>,
) -> Result<Option<T>, Failure> {
    match event {
        Ok(object) => Ok(Some(object)),
        Err(watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) => {
            Err(cluster.refused(key, &error))
        }
        Err(_) => Ok(None),
    }
}

/// Whether no pod will follow: the run has ended or is gone.
fn has_ended(run: Option<&BenchmarkRun>) -> bool {
    let state = run.map(|run| run.status.as_ref().and_then(|status| status.state));
    matches!(state, None | Some(Some(State::Complete | State::Failed)))
}

fn no_pods(key: &RunKey, run: &BenchmarkRun) -> String {
    let state = run.status.as_ref().and_then(|status| status.state);
    let reads = format!("logs go with their pods, and `fabricbench report {key}` reads the records");
    match (standing(run), state) {
        (Some(standing), None | Some(State::Pending)) => format!("{standing}; it has no pod yet"),
        (Some(standing), _) => format!("{standing}; it has no pod: {reads}"),
        (None, Some(State::Running)) => format!("no pod of it is there now: {reads}"),
        (None, _) => format!("it is complete, and no pod of it is left: {reads}"),
    }
}

fn not_started(pod: &str, why: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stderr(), "pod {pod} has not started: {why}")?)
}
