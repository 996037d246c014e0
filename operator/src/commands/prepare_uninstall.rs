//! `fabricbench prepare-uninstall`: checks or removes the runs before the operator is uninstalled. Without an operator, the
//! pods of a run keep running, and its finalizer prevents its deletion.

use std::time::Duration;

use clap::{Args, ValueEnum};
use crds::number::whole_number;
use crds::v1alpha1::BenchmarkRun;
use kube::api::{DeleteParams, ListParams, PartialObjectMeta};
use kube::{Api, ResourceExt};
use tokio::time::{Instant, sleep};

use super::namespaces::NamespaceFlag;
use super::{Exit, Failure};
use crate::connection::{Connection, is_resource_missing};
use crate::terminal::print;

/// Maximum number of runs in a message.
const MAX_SHOWN: usize = 10;
/// Interval between two checks of whether the runs are gone.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Check or delete the runs before the operator is uninstalled, while it can still delete their pods.
///
/// The chart runs this command before it is uninstalled. Uses the cluster in the current kubeconfig context, or the cluster
/// that its pod runs in.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench prepare-uninstall --runs delete")]
pub struct PrepareUninstall {
    #[command(flatten)]
    namespaces: NamespaceFlag,
    /// What happens to runs that exist: `refuse` fails, and `delete` deletes them with their results and waits until they and
    /// their pods are gone.
    #[arg(long, value_name = "POLICY", default_value = "refuse", value_enum)]
    runs: RunPolicy,
    /// Maximum time to wait for the deletion, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 240,
        allow_negative_numbers = true, value_parser = whole_number(1..=86_400_u32))]
    timeout_seconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunPolicy {
    /// Fail while runs exist.
    Refuse,
    /// Delete the runs and their results.
    Delete,
}

impl PrepareUninstall {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::incomplete)?;
        runtime.block_on(self.prepare())?;
        Ok(Exit::Complete)
    }

    async fn prepare(&self) -> Result<(), Failure> {
        let connection = Connection::open().await.map_err(Failure::incomplete)?;
        let client = &connection.client;
        let api = |scope: Option<String>| match scope {
            Some(namespace) => Api::namespaced(client.clone(), &namespace),
            None => Api::all(client.clone()),
        };
        let apis: Vec<Api<BenchmarkRun>> = self
            .namespaces
            .namespaces()?
            .scopes()
            .into_iter()
            .map(api)
            .collect();
        let runs = existing(&connection, &apis).await?;
        match self.runs {
            _ if runs.is_empty() => Ok(print("no runs exist\n")?),
            RunPolicy::Refuse => Err(Failure::incomplete(refusal(&names(&runs)))),
            RunPolicy::Delete => self.delete(&connection, &apis, runs).await,
        }
    }

    async fn delete(
        &self,
        connection: &Connection,
        apis: &[Api<BenchmarkRun>],
        mut runs: Vec<PartialObjectMeta<BenchmarkRun>>,
    ) -> Result<(), Failure> {
        let end = Instant::now() + Duration::from_secs(self.timeout_seconds.into());
        while !runs.is_empty() {
            if Instant::now() >= end {
                return Err(Failure::incomplete(unfinished(
                    &names(&runs),
                    self.timeout_seconds,
                )));
            }
            // Runs may still be created.
            for run in runs
                .iter()
                .filter(|run| run.metadata.deletion_timestamp.is_none())
            {
                let namespace = run.namespace().unwrap_or_default();
                let api: Api<BenchmarkRun> = Api::namespaced(connection.client.clone(), &namespace);
                match api.delete(&run.name_any(), &DeleteParams::default()).await {
                    Ok(_) => print(&format!("deleting {namespace}/{}\n", run.name_any()))?,
                    Err(kube::Error::Api(status)) if status.is_not_found() => {}
                    Err(error) => return Err(request_failure(connection, "deleted", &error)),
                }
            }
            sleep(POLL_INTERVAL).await;
            runs = existing(connection, apis).await?;
        }
        Ok(print("all runs are deleted\n")?)
    }
}

/// Returns the metadata of all runs. Their specs are not decoded, because those of other versions may be invalid.
async fn existing(
    connection: &Connection,
    apis: &[Api<BenchmarkRun>],
) -> Result<Vec<PartialObjectMeta<BenchmarkRun>>, Failure> {
    let mut runs = Vec::new();
    for api in apis {
        match api.list_metadata(&ListParams::default()).await {
            Ok(list) => runs.extend(list.items),
            // The custom resource definition does not exist, and neither do runs.
            Err(kube::Error::Api(status)) if is_resource_missing(&status) => {}
            Err(error) => return Err(request_failure(connection, "listed", &error)),
        }
    }
    Ok(runs)
}

fn request_failure(connection: &Connection, what: &str, error: &kube::Error) -> Failure {
    let cause = connection.describe(error);
    Failure::incomplete(format!("the runs cannot be {what}: {cause}"))
}

fn names(runs: &[PartialObjectMeta<BenchmarkRun>]) -> Vec<String> {
    let name = |run: &PartialObjectMeta<BenchmarkRun>| {
        format!("{}/{}", run.namespace().unwrap_or_default(), run.name_any())
    };
    runs.iter().map(name).collect()
}

/// Lists the first runs, and the number of the others.
fn shown(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_SHOWN).map(String::as_str).collect();
    match names.len().saturating_sub(MAX_SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn refusal(names: &[String]) -> String {
    format!(
        "the operator is not uninstalled, because these runs exist: {}. Without the operator, their pods would keep running, and their \
         finalizer would prevent their deletion. Save their results with `fabricbench report`, and delete them with `kubectl \
         delete benchmarkruns --all --all-namespaces`; then uninstall again. To keep the runs for another installation, which \
         continues them, use `helm uninstall --no-hooks`. To keep the operator, use `helm rollback` with the current revision: until \
         then, Helm refuses to upgrade the release",
        shown(names)
    )
}

fn unfinished(names: &[String], seconds: u32) -> String {
    format!(
        "these runs still exist after {seconds} s: {}. See the CleanupBlocked condition with `kubectl describe benchmarkrun`, and check \
         that the operator is running",
        shown(names)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_runs_and_the_ways_out() {
        let names: Vec<String> = (0..12).map(|run| format!("team/{run}")).collect();
        let message = refusal(&names);
        for part in [
            "because these runs exist: team/0, ",
            "team/9 and 2 more. ",
            "uninstall again",
            "--no-hooks",
            "helm rollback",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(
            unfinished(&names[..2], 240).starts_with("these runs still exist after 240 s: team/0, team/1. ")
        );
    }
}
