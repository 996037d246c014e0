//! The folder of a run: `records.jsonl`, `run.json`, `report.html`. I/O.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crds::v1alpha1::BenchmarkRun;
use snafu::{ResultExt, Snafu, ensure};

/// Longest record file that is read back, in bytes: far above what a plan allows.
const MAX_RECORDS_BYTES: u64 = 1024 * 1024 * 1024;
/// Longest `run.json` that is read back: above what an object in a cluster may have.
const MAX_RUN_BYTES: u64 = 4 * 1024 * 1024;

/// Why a run's folder cannot be used.
#[derive(Debug, Snafu)]
pub enum OutputError {
    /// A file or folder cannot be read or written.
    #[snafu(display("{}: {source}", path.display()))]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The folder cannot be made.
    #[snafu(display(
        "the output folder {} cannot be made: {source}. Name another one with --output",
        path.display()
    ))]
    Make {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A record cannot be kept.
    #[snafu(display(
        "{}: {source}. What was written before is kept: go on with --resume when there is room",
        path.display()
    ))]
    Append {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds measured records that would be lost.
    #[snafu(display(
        "{} already holds measured records: continue them with --resume, or name another folder with --output",
        path.display()
    ))]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// There is nothing to resume or to report.
    #[snafu(display("{} is no run's folder: it has no {missing}", path.display()))]
    NoRun {
        /// The folder.
        path: PathBuf,
        /// The file that is missing.
        missing: &'static str,
    },
    /// A file is far larger than any of ours.
    #[snafu(display("{} has {length} bytes, more than {limit}", path.display()))]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// Its length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// `run.json` is no BenchmarkRun.
    #[snafu(display("{}: {source}", path.display()))]
    RunSyntax {
        /// Which.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
}

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// A new folder; one that already holds records is refused.
    ///
    /// # Errors
    /// When it cannot be made or holds records.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let folder = Self {
            path: path.to_owned(),
        };
        fs::create_dir_all(path).context(MakeSnafu { path })?;
        let empty = fs::metadata(folder.records()).map_or(true, |metadata| metadata.len() == 0);
        ensure!(empty, OccupiedSnafu { path });
        Ok(folder)
    }

    /// The folder of an earlier run.
    ///
    /// # Errors
    /// When it is none.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        let folder = Self {
            path: path.to_owned(),
        };
        ensure!(
            folder.run().is_file(),
            NoRunSnafu {
                path,
                missing: "run.json"
            }
        );
        Ok(folder)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its `records.jsonl`: the streams, as received.
    pub fn records(&self) -> PathBuf {
        self.path.join("records.jsonl")
    }

    /// Its `run.json`: the BenchmarkRun with its status, as a cluster would hold it.
    pub fn run(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// Its `report.html`.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// All records so far; empty when there are none yet.
    ///
    /// # Errors
    /// When they cannot be read or are far too long.
    pub fn read_records(&self) -> Result<Vec<u8>, OutputError> {
        match read_bounded(&self.records(), MAX_RECORDS_BYTES) {
            Err(OutputError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    /// The BenchmarkRun as it was last written.
    ///
    /// # Errors
    /// When it cannot be read or is none.
    pub fn read_run(&self) -> Result<BenchmarkRun, OutputError> {
        let path = self.run();
        let bytes = read_bounded(&path, MAX_RUN_BYTES)?;
        serde_json::from_slice(&bytes).context(RunSyntaxSnafu { path })
    }

    /// Writes the BenchmarkRun; whoever reads at the same time sees the old one or the new one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_run(&self, run: &BenchmarkRun) -> Result<(), OutputError> {
        let path = self.run();
        let mut text = serde_json::to_vec_pretty(run).context(RunSyntaxSnafu { path: &path })?;
        text.push(b'\n');
        replace(&path, &text)
    }

    /// Writes the report.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&self, html: &str) -> Result<(), OutputError> {
        replace(&self.report(), html.as_bytes())
    }

    /// Opens the records for appending. A line that an earlier attempt left unfinished is ended first, so that the
    /// next stream begins on a line of its own.
    ///
    /// # Errors
    /// When the file cannot be opened or written.
    pub fn append_records(&self) -> Result<RecordFile, OutputError> {
        let path = self.records();
        let unfinished = self.read_records()?.last().is_some_and(|byte| *byte != b'\n');
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .context(IoSnafu { path: &path })?;
        let mut records = RecordFile { file, path };
        if unfinished {
            records.append("")?;
        }
        Ok(records)
    }
}

/// `records.jsonl`, open for appending.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: PathBuf,
}

impl RecordFile {
    /// Appends one line.
    ///
    /// # Errors
    /// When the disk takes no more; what was written before stays.
    pub fn append(&mut self, line: &str) -> Result<(), OutputError> {
        let path = &self.path;
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .context(AppendSnafu { path })
    }

    /// Makes sure that all lines are on the disk.
    ///
    /// # Errors
    /// When they are not.
    pub fn sync(&self) -> Result<(), OutputError> {
        self.file.sync_data().context(IoSnafu { path: &self.path })
    }
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let scratch = path.with_extension("new");
    fs::write(&scratch, bytes).context(IoSnafu { path: &scratch })?;
    fs::rename(&scratch, path).context(IoSnafu { path })
}

fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, OutputError> {
    let length = fs::metadata(path).context(IoSnafu { path })?.len();
    ensure!(length <= limit, TooLargeSnafu { path, length, limit });
    fs::read(path).context(IoSnafu { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_never_overwritten() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(scratch.path()).unwrap();
        folder.append_records().unwrap().append("one").unwrap();
        assert!(matches!(
            RunFolder::create(scratch.path()),
            Err(OutputError::Occupied { .. })
        ));
    }

    #[test]
    fn an_unfinished_line_is_ended_before_the_next_stream() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(scratch.path()).unwrap();
        fs::write(folder.records(), "whole\nhalf").unwrap();
        folder.append_records().unwrap().append("next").unwrap();
        assert_eq!(folder.read_records().unwrap(), b"whole\nhalf\nnext\n");
    }

    #[test]
    fn a_folder_without_a_run_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let error = RunFolder::open(scratch.path()).unwrap_err();
        assert!(error.to_string().contains("run.json"), "{error}");
    }
}
