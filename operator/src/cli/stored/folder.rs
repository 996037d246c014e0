//! A run in its folder. Reads `run.json` and `records.jsonl`.

use std::path::Path;

use crds::record::hex;
use crds::v1alpha1::BenchmarkRun;
use sha2::{Digest, Sha256};

use super::{StoredRun, Unread};
use crate::cli::Failure;
use crate::local::{RECORDS_FILE, RunDirectory};

pub(super) fn load(path: &Path) -> Result<StoredRun, Failure> {
    let folder = match only_run(path)? {
        Some(folder) => folder,
        None => RunDirectory::open(path).map_err(Failure::wrong_file)?,
    };
    let run = folder.read_run().map_err(Failure::wrong_file)?;
    // The folder of a run has the file from its first moment on.
    let records = folder.records_path();
    if !records.is_file() {
        return Err(Failure::wrong_file(format!(
            "{} is missing, and all numbers come from it: put it back, or measure anew with `fabricbench run`",
            records.display()
        )));
    }
    let measured = measured_digest(&run).map(str::to_owned);
    let unread = Unread::new(run, folder.run_path().display().to_string())?;
    let mut collector = unread.collector();
    let mut digest = Sha256::new();
    let read = folder.read_records(|piece| {
        digest.update(piece);
        collector.feed(piece);
    });
    read.map_err(Failure::wrong_file)?;
    let stored = unread.evaluated(collector)?;
    let found = hex(&digest.finalize());
    Ok(match measured.filter(|measured| *measured != found) {
        Some(measured) => stored.doubted(format!(
            "{} is not the file that run.json names: its SHA-256 is {found}, that of what was measured {measured}. Put \
             that file back, or continue with `fabricbench run --resume`, which measures again what does not count",
            records.display()
        )),
        None => stored,
    })
}

/// What the records hash to, as the run says once it has ended. A run that is going on, or was killed, says nothing.
fn measured_digest(run: &BenchmarkRun) -> Option<&str> {
    let records = run.status.as_ref()?.records.as_ref()?;
    // In a cluster they have another form.
    (records.reference == RECORDS_FILE).then_some(&records.sha256)
}

/// The run in `folder`, where that holds runs and is none itself; several are refused.
fn only_run(folder: &Path) -> Result<Option<RunDirectory>, Failure> {
    if RunDirectory::open(folder).is_ok() {
        return Ok(None);
    }
    let mut runs = RunDirectory::find_all(folder);
    if runs.len() > 1 {
        let names: Vec<String> = runs.iter().map(|run| run.path().display().to_string()).collect();
        let place = folder.display();
        return Err(Failure::wrong_file(format!(
            "{place} holds several runs. Name one: {}",
            names.join(", ")
        )));
    }
    Ok(runs.pop())
}
