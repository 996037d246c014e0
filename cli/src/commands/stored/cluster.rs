//! Loads a run from a cluster: the BenchmarkRun and the ConfigMaps that contain its records. Performs I/O.

use std::fmt::Display;

use crds::v1alpha1::{Reason, RecordsReference};
use operator::run_controller::{RecordStore, RunKey};

use super::{StoredRun, UnreadRun, status_check};
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
    let store = read
        .map_err(|error| failure(&error))?
        .map_err(|error| failure(&error))?;
    let records = store.reference();
    let stored = unread.evaluate(collector)?;
    let Some(status) = stored
        .run
        .status
        .as_ref()
        .filter(|status| status_check::is_finished(status))
    else {
        // The status of a run in progress is written after its records.
        return Ok(stored);
    };
    let sha256 = |records: &Option<RecordsReference>| records.as_ref().map(|records| records.sha256.clone());
    // If records could not be stored, the status keeps the digest of those before.
    let is_lost = status
        .conditions
        .iter()
        .any(|condition| condition.is_true() && condition.reason == Reason::RecordsLost.as_str());
    if !is_lost && sha256(&status.records) != sha256(&records) {
        return Ok(stored.with_changed_records(format!(
            "the ConfigMaps with the records of {key} were changed after the measurement: another client has added records \
             after the last one in the status. Measure again"
        )));
    }
    Ok(stored)
}
