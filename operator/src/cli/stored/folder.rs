//! A run in its folder. Reads `run.json` and `records.jsonl`.

use std::path::{Path, PathBuf};

use super::{StoredRun, Unread};
use crate::cli::Failure;
use crate::local::RunFolder;

pub(super) fn load(path: &Path) -> Result<StoredRun, Failure> {
    if let Some(several) = several_runs(path) {
        return Err(Failure::wrong_file(several));
    }
    let folder = RunFolder::open(path).map_err(Failure::wrong_file)?;
    let run = folder.read_run().map_err(Failure::wrong_file)?;
    let unread = Unread::new(run, folder.run().display().to_string())?;
    let mut collector = unread.collector();
    let read = folder.read_records(|piece| collector.feed(piece));
    read.map_err(Failure::wrong_file)?;
    unread.evaluated(collector)
}

/// The runs in `folder`, where it holds runs and is none itself.
fn several_runs(folder: &Path) -> Option<String> {
    let is_run = |path: &Path| RunFolder::open(path).is_ok();
    if is_run(folder) {
        return None;
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_run(path))
        .collect();
    runs.sort();
    let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
    let place = folder.display();
    (!names.is_empty()).then(|| format!("{place} holds several runs. Name one: {}", names.join(", ")))
}
