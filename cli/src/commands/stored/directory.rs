//! Loads a run from its output directory: `run.json` and `records.jsonl`. Performs I/O.

use std::path::Path;

use crds::record::hex;
use crds::v1alpha1::{BenchmarkRun, RecordsReference};
use sha2::{Digest, Sha256};

use super::{StoredRun, UnreadRun, status_check};
use crate::commands::Failure;
use crate::local::{RECORDS_FILE, RunDirectory};

pub(super) fn load(path: &Path) -> Result<StoredRun, Failure> {
    let directory = match only_run(path)? {
        Some(directory) => directory,
        None => RunDirectory::open(path).map_err(Failure::invalid_input)?,
    };
    let run = directory.read_run().map_err(Failure::invalid_input)?;
    if run.status.is_none() {
        return Err(Failure::invalid_input(format!(
            "{} has no status, so fabricbench cannot verify that the records belong to this spec. Restore the file",
            directory.run_path().display()
        )));
    }
    // An output directory contains this file even before the first record is written.
    let records = directory.records_path();
    if !records.is_file() {
        return Err(Failure::invalid_input(format!(
            "{} is missing or not a file, but all results are computed from it. Restore the file, or measure again with \
             `fabricbench run`",
            records.display()
        )));
    }
    let measured = measured_digest(&run).map(str::to_owned);
    // A finished local run always has a digest. A run in a cluster that has measured nothing has none.
    let is_missing = run.status.as_ref().is_some_and(|status| {
        status_check::is_finished(status) && status.records.is_none() && status.execution.is_none()
    });
    let unread = UnreadRun::new(run, directory.run_path().display().to_string())?;
    let mut collector = unread.collector();
    let mut digest = Sha256::new();
    let read = directory.read_records(|piece| {
        digest.update(piece);
        collector.feed(piece);
    });
    read.map_err(Failure::invalid_input)?;
    let mut stored = unread.evaluate(collector)?;
    let found = hex(&digest.finalize());
    if measured.is_some_and(|measured| measured != found) {
        return Ok(stored.with_changed_records(format!(
            "{} was changed after the measurement: its SHA-256 differs from the one in run.json. Restore the file, or \
             measure again. If lines are damaged, `fabricbench run FILE --resume DIR` repeats only their blocks",
            records.display()
        )));
    }
    if is_missing {
        return Ok(stored.with_changed_records(format!(
            "status.records was removed from {}, so fabricbench cannot verify that {} contains the measured records. Restore \
             the file, or measure again",
            directory.run_path().display(),
            records.display()
        )));
    }
    let mut written = directory.read_status().map_err(Failure::invalid_input)?;
    // An earlier release had a field for each value of a result.
    if let (Some(results), Some(status)) = (written.get_mut("results"), &stored.run.status) {
        *results = serde_json::to_value(&status.results).unwrap_or_default();
    }
    let records = RecordsReference {
        reference: RECORDS_FILE.to_owned(),
        sha256: found,
    };
    let difference = status_check::difference(&stored, &written, Some(records), "run.json");
    stored.evaluation.summary.warnings.extend(difference);
    Ok(stored)
}

/// SHA-256 hash of the record file, from a finished local run's status. `None` if the run is in progress, was killed,
/// or ran in a cluster.
fn measured_digest(run: &BenchmarkRun) -> Option<&str> {
    let records = run.status.as_ref()?.records.as_ref()?;
    // For a run in a cluster, the hash does not cover the bytes of this file. Only such a run has a controller's state.
    let is_local = records.reference == RECORDS_FILE || run.status.as_ref()?.execution.is_none();
    is_local.then_some(&records.sha256)
}

/// Returns the only run in `directory`, or `None` if it contains no run or is itself the output directory of a run.
///
/// # Errors
/// Returns an error if the directory contains several runs.
fn only_run(directory: &Path) -> Result<Option<RunDirectory>, Failure> {
    if RunDirectory::open(directory).is_ok() {
        return Ok(None);
    }
    let mut runs = RunDirectory::find_all(directory);
    if runs.len() > 1 {
        let names: Vec<String> = runs.iter().map(|run| run.path().display().to_string()).collect();
        let location = directory.display();
        return Err(Failure::invalid_input(format!(
            "{location} contains several runs. Specify one: {}",
            names.join(", ")
        )));
    }
    Ok(runs.pop())
}
