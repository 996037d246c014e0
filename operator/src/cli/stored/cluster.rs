//! A run in a cluster. Reads the BenchmarkRun and the ConfigMaps that keep its records.

use std::fmt::Display;

use crds::v1alpha1::BenchmarkRun;
use kube::{Api, Client};

use super::{StoredRun, Unread};
use crate::cli::Failure;
use crate::run_controller::{RecordStore, RunKey};

pub(super) fn load(key: &RunKey) -> Result<StoredRun, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::incomplete)?;
    runtime.block_on(read(key))
}

async fn read(key: &RunKey) -> Result<StoredRun, Failure> {
    let unread_by = |why: &dyn Display| Failure::incomplete(format!("{key}: {why}"));
    let client = Client::try_default()
        .await
        .map_err(|error| unread_by(&format!("no way to a cluster: {error}. Set KUBECONFIG")))?;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &key.namespace);
    let run = runs.get_opt(&key.name).await.map_err(|error| unread_by(&error))?;
    let run = run.ok_or_else(|| {
        Failure::wrong_file(format!(
            "{key}: there is neither such a folder nor such a run in the cluster of KUBECONFIG"
        ))
    })?;
    let unread = Unread::new(run, key.to_string())?;
    let mut collector = unread.collector();
    let read = RecordStore::read(&client, key, &unread.run, |piece| collector.feed(piece)).await;
    read.map_err(|error| unread_by(&error))?
        .map_err(|error| unread_by(&error))?;
    unread.evaluated(collector)
}
