//! Loads a run from a cluster: the BenchmarkRun and the ConfigMaps that contain its records. Performs I/O.

use std::fmt::Display;

use crds::v1alpha1::RecordsReference;
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
    let mut stored = unread.evaluate(collector)?;
    let Some(status) = &stored.run.status else {
        return Ok(stored);
    };
    let sha256 = |records: &Option<RecordsReference>| records.as_ref().map(|records| records.sha256.clone());
    // The status of a run in progress is written after its records. If records could not be stored, the status keeps the
    // digest of those before.
    let has_all_records = status_check::is_finished(status) && !status_check::has_other_records(status);
    if has_all_records && sha256(&status.records) != sha256(&records) {
        return Ok(stored.with_changed_records(format!(
            "the ConfigMaps with the records of {key} were changed after the measurement: another client has added records \
             after the last one in the status. Measure again"
        )));
    }
    let written = serde_json::to_value(status).map_err(|error| failure(&error))?;
    let difference = status_check::difference(&stored, &written, records, "the status in the cluster");
    stored.evaluation.summary.warnings.extend(difference);
    Ok(stored)
}
