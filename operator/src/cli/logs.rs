//! `fabricbench logs`: what the workers of a run in the cluster wrote. I/O.

use std::io::Write;

use clap::Args;
use crds::v1alpha1::BenchmarkRun;
use futures::io::AsyncBufReadExt;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, Client, ResourceExt};

use super::source::Source;
use super::{Exit, Failure, cluster};
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
    /// Go on as lines are written, until the pods end.
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
        cluster::block_on(self.show(key))?;
        Ok(Exit::Complete)
    }

    async fn show(&self, key: &RunKey) -> Result<(), Failure> {
        let client = cluster::client(key).await?;
        let run: BenchmarkRun = cluster::run(&client, key).await?;
        let pods = pods(&client, key, &run.uid().unwrap_or_default()).await?;
        if pods.is_empty() {
            return Err(Failure::incomplete(format!(
                "{key}: no pod of it is there, and its logs are where they were: `fabricbench report {key}` reads its records"
            )));
        }
        let api: Api<Pod> = Api::namespaced(client, &key.namespace);
        let logs = pods.iter().map(|pod| self.copy(&api, pod));
        futures::stream::iter(logs)
            .buffer_unordered(PODS)
            .try_collect::<()>()
            .await
    }

    /// Copies the log of one pod to standard output; a pod that has none says why.
    async fn copy(&self, api: &Api<Pod>, pod: &str) -> Result<(), Failure> {
        let params = LogParams {
            container: Some(WORKER_CONTAINER.to_owned()),
            follow: self.follow,
            tail_lines: Some(self.tail),
            ..LogParams::default()
        };
        let mut lines = match api.log_stream(pod, &params).await {
            Ok(log) => log.lines(),
            Err(error) => {
                writeln!(std::io::stderr(), "{pod}: {error}")?;
                return Ok(());
            }
        };
        while let Some(line) = lines.try_next().await? {
            writeln!(std::io::stdout(), "{pod} {line}")?;
        }
        Ok(())
    }
}

/// Names of the pods of the run, in the order of legs and attempts.
async fn pods(client: &Client, key: &RunKey, uid: &str) -> Result<Vec<String>, Failure> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &key.namespace);
    let params = ListParams::default().labels(&selector(uid));
    let pods = api.list(&params).await;
    let pods = pods.map_err(|error| Failure::incomplete(format!("{key}: {error}")))?;
    let mut names: Vec<String> = pods.items.iter().map(ResourceExt::name_any).collect();
    names.sort();
    Ok(names)
}
