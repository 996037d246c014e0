//! `fabricbench logs`: worker logs of a run in the cluster. Performs I/O.

mod lines;
mod started;

use std::collections::BTreeMap;
use std::pin::pin;

use clap::Args;
use crds::number::whole_number;
use crds::v1alpha1::{BenchmarkRun, State};
use futures::stream::FuturesUnordered;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use operator::run_controller::RunKey;
use operator::run_controller::build::WORKER_CONTAINER;
use operator::run_controller::build::labels::selector;
use operator::terminal::{print, print_error};

use self::lines::for_each_line;
use self::started::check_started;
use super::cluster::{self, Cluster};
use super::source::Source;
use super::state_summary::state_summary;
use super::{Exit, Failure};

/// Maximum number of pods whose logs are read concurrently.
const MAX_CONCURRENT_PODS: usize = 64;

/// Print the worker logs of a run in the cluster. Each line starts with the pod name.
///
/// Worker 0 writes the records, one JSON object per line. Logs are deleted with their pods, but the records are kept;
/// use `fabricbench report` to read them.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench logs default/nixl-optimizations --tail 5")]
pub(super) struct Logs {
    /// Run in the cluster, as NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    run: Source,
    /// Follow the logs, including those of pods that start later, until the run is finished.
    #[arg(long, short)]
    follow: bool,
    /// Number of recent log lines to print per pod.
    #[arg(long, value_name = "N", default_value_t = 100,
        allow_negative_numbers = true, value_parser = whole_number(0..=1_000_000_i64))]
    tail: i64,
}

impl Logs {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let Source::Cluster(key) = &self.run else {
            return Err(Failure::invalid_input(format!(
                "{}: not a run in the cluster; use NAMESPACE/NAME. The records of a local run are in records.jsonl in its output directory",
                self.run
            )));
        };
        match cluster::block_on(self.print_logs(key))? {
            true => Ok(Exit::Complete),
            // The reason has already been printed for each pod.
            false => Err(Failure::incomplete("")),
        }
    }

    /// Prints the logs. Returns whether any log was available.
    async fn print_logs(&self, key: &RunKey) -> Result<bool, Failure> {
        let cluster = Cluster::connect(key).await?;
        let run = cluster.run(key).await?;
        let selector = selector(&run.uid().unwrap_or_default());
        let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &key.namespace);
        if self.follow && !is_finished(Some(&run)) {
            return self.follow(&cluster, key, &run, &api, &selector).await;
        }
        let pods = api.list(&ListParams::default().labels(&selector)).await;
        let mut pods = pods.map_err(|error| cluster.request_failure(key, &error))?.items;
        if pods.is_empty() {
            return Err(Failure::incomplete(format!(
                "{key}: {}",
                describe_no_pods(key, &run)
            )));
        }
        // Sorting by name groups the pods by leg and attempt.
        pods.sort_by_key(ResourceExt::name_any);
        let mut ready = Vec::new();
        for pod in &pods {
            match check_started(pod) {
                Ok(()) => ready.push(pod.name_any()),
                Err(why) => report_not_started(&pod.name_any(), &why)?,
            }
        }
        let logs = ready.into_iter().map(|pod| self.print_log(&cluster, &api, pod));
        let logs = futures::stream::iter(logs).buffer_unordered(MAX_CONCURRENT_PODS);
        logs.try_fold(false, async |any, printed| Ok(any || printed))
            .await
    }

    /// Prints the logs of pods as they start, until `run` is finished and all logs are complete.
    async fn follow(
        &self,
        cluster: &Cluster,
        key: &RunKey,
        run: &BenchmarkRun,
        api: &Api<Pod>,
        selector: &str,
    ) -> Result<bool, Failure> {
        if let Some(summary) = state_summary(run) {
            print_error(&format!("{key}: {summary}"));
        }
        let runs: Api<BenchmarkRun> = Api::namespaced(cluster.client.clone(), &key.namespace);
        let mut runs = pin!(watcher::watch_object(runs, &key.name).default_backoff());
        let pods = watcher(api.clone(), watcher::Config::default().labels(selector));
        let mut pods = pin!(pods.default_backoff().applied_objects());
        // For each pod, the last printed reason that its worker has not started, or `None` once its log is being
        // followed.
        let mut seen: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut logs = FuturesUnordered::new();
        let mut any = false;
        loop {
            tokio::select! {
                Some(pod) = pods.next() => {
                    let Some(pod) = watched_object(cluster, key, pod)? else { continue };
                    let name = pod.name_any();
                    let last = seen.get(&name);
                    match check_started(&pod) {
                        _ if last == Some(&None) => {}
                        Ok(()) => {
                            logs.push(self.print_log(cluster, api, name.clone()));
                            seen.insert(name, None);
                        }
                        Err(why) if last.and_then(Option::as_ref) != Some(&why) => {
                            report_not_started(&name, &why)?;
                            seen.insert(name, Some(why));
                        }
                        Err(_) => {}
                    }
                }
                Some(printed) = logs.next() => any |= printed?,
                Some(run) = runs.next() => {
                    if watched_object(cluster, key, run)?.is_some_and(|run| is_finished(run.as_ref())) {
                        break;
                    }
                }
            }
        }
        while let Some(printed) = logs.next().await {
            any |= printed?;
        }
        if seen.is_empty() {
            let run = cluster.run(key).await?;
            return Err(Failure::incomplete(format!(
                "{key}: {}",
                describe_no_pods(key, &run)
            )));
        }
        Ok(any)
    }

    /// Prints one pod's log and returns whether it was available. If not, prints the reason to standard error.
    async fn print_log(&self, cluster: &Cluster, api: &Api<Pod>, pod: String) -> Result<bool, Failure> {
        let params = LogParams {
            container: Some(WORKER_CONTAINER.to_owned()),
            follow: self.follow,
            tail_lines: Some(self.tail),
            ..LogParams::default()
        };
        let log = match api.log_stream(&pod, &params).await {
            Ok(log) => log,
            Err(error) => {
                print_error(&format!("{pod}: {}", cluster.describe(&error)));
                return Ok(false);
            }
        };
        for_each_line(log, |line| print(&format!("{pod} {line}\n"))).await?;
        Ok(true)
    }
}

/// Returns the object from a watch event, or `None` if the watch was interrupted. The watcher restarts an interrupted
/// watch.
fn watched_object<T>(
    cluster: &Cluster,
    key: &RunKey,
    event: Result<T, watcher::Error>,
) -> Result<Option<T>, Failure> {
    match event {
        Ok(object) => Ok(Some(object)),
        Err(watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) => {
            Err(cluster.request_failure(key, &error))
        }
        Err(_) => Ok(None),
    }
}

/// Whether no further pod will start: the run is finished or deleted.
fn is_finished(run: Option<&BenchmarkRun>) -> bool {
    let state = run.map(|run| run.status.as_ref().and_then(|status| status.state));
    matches!(state, None | Some(Some(State::Complete | State::Failed)))
}

fn describe_no_pods(key: &RunKey, run: &BenchmarkRun) -> String {
    let state = run.status.as_ref().and_then(|status| status.state);
    let hint =
        format!("logs are deleted with their pods; use `fabricbench report {key}` to read the records");
    match (state_summary(run), state) {
        (Some(summary), None | Some(State::Pending)) => format!("{summary}; the run has no pods yet"),
        (Some(summary), _) => format!("{summary}; the run has no pods: {hint}"),
        (None, Some(State::Running)) => format!("the run currently has no pods: {hint}"),
        (None, _) => format!("the run is complete and has no pods: {hint}"),
    }
}

fn report_not_started(pod: &str, why: &str) -> Result<(), Failure> {
    print_error(&format!("pod {pod} has not started: {why}"));
    Ok(())
}
