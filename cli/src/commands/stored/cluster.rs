//! Loads a run from a cluster: the BenchmarkRun and the ConfigMaps that contain its records. Performs I/O.

use std::fmt::Display;

use operator::run_controller::{RecordStore, RunKey};

use super::{StoredRun, UnreadRun};
use crate::commands::Failure;
use crate::commands::cluster::{self, Cluster};

pub(super) fn load(key: &RunKey) -> Result<StoredRun, Failure> {
    cluster::block_on(read(key))
}

async fn read(key: &RunKey) -> Result<StoredRun, Failure> {
    let failure = |why: &dyn Display| Failure::incomplete(format!("{key}: {why}"));
    let cluster = Cluster::connect(key).await?;
    let unread = UnreadRun::new(cluster.run(key).await?, key.to_string())?;
    let mut collector = unread.collector();
    let read = RecordStore::read(&cluster.client, key, &unread.run, |piece| collector.feed(piece)).await;
    read.map_err(|error| failure(&error))?
        .map_err(|error| failure(&error))?;
    unread.evaluate(collector)
}
