//! The folder of a run: `records.jsonl`, `run.json`, `report.html`. I/O.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crds::v1alpha1::BenchmarkRun;
use snafu::{ResultExt, Snafu, ensure};

/// Most bytes of records that a plan may ask for on one machine: what verified is held in memory to evaluate it.
pub(super) const MAX_PLANNED_BYTES: u64 = 1024 * 1024 * 1024;
/// Longest record file that is read back, in bytes: the longest plan, and three times as much of broken attempts.
const MAX_RECORDS_BYTES: u64 = 4 * MAX_PLANNED_BYTES;
/// Name of the record file in its folder, and in the status of a run.
pub const RECORDS: &str = "records.jsonl";
/// Bytes of a record file that are in memory at a time.
const PIECE_BYTES: usize = 1024 * 1024;
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
    /// A run is going on in it.
    #[snafu(display(
        "another fabricbench writes {}: wait for its end, or name another folder with --output",
        path.display()
    ))]
    Busy {
        /// The record file.
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
    /// A new folder with its record file; one that already holds records is refused.
    ///
    /// # Errors
    /// When it cannot be made, holds records, or another process writes them.
    pub fn create(path: &Path) -> Result<(Self, RecordFile), OutputError> {
        let folder = Self {
            path: path.to_owned(),
        };
        fs::create_dir_all(path).context(MakeSnafu { path })?;
        let records = folder.lock_records()?;
        ensure!(records.length()? == 0, OccupiedSnafu { path });
        Ok((folder, records))
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

    /// The runs whose folders are in `path`, by name; none where it cannot be read.
    pub fn all_in(path: &Path) -> Vec<Self> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().flat_map(|path| Self::open(path)).collect()
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its `records.jsonl`: the streams, as received.
    pub fn records(&self) -> PathBuf {
        self.path.join(RECORDS)
    }

    /// Its `run.json`: the BenchmarkRun with its status, as a cluster would hold it.
    pub fn run(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// Its `report.html`.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Gives `each` all records so far, piece by piece, cut anywhere; nothing when there are none yet.
    ///
    /// # Errors
    /// When they cannot be read or are far too long.
    pub fn read_records(&self, mut each: impl FnMut(&[u8])) -> Result<(), OutputError> {
        let path = self.records();
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.context(IoSnafu { path: &path })?,
        };
        let length = file.metadata().context(IoSnafu { path: &path })?.len();
        let limit = MAX_RECORDS_BYTES;
        ensure!(length <= limit, TooLargeSnafu { path, length, limit });
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => each(piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(OutputError::Io { path, source }),
            }
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

    /// Opens the records for appending; nobody else can until the file is dropped.
    ///
    /// # Errors
    /// When the file cannot be opened, or another process has it.
    pub fn lock_records(&self) -> Result<RecordFile, OutputError> {
        let path = self.records();
        let opened = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path);
        let file = opened.context(IoSnafu { path: &path })?;
        match file.try_lock() {
            Ok(()) => Ok(RecordFile { file, path }),
            Err(TryLockError::WouldBlock) => BusySnafu { path }.fail(),
            Err(TryLockError::Error(source)) => Err(OutputError::Io { path, source }),
        }
    }
}

/// `records.jsonl`, open for appending by this process alone.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: PathBuf,
}

impl RecordFile {
    /// Ends a line that an earlier attempt left unfinished, so that the next stream begins on a line of its own.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn end_unfinished_line(&mut self) -> Result<(), OutputError> {
        let Some(last) = self.length()?.checked_sub(1) else {
            return Ok(());
        };
        let mut byte = [0];
        let read = self.file.read_exact_at(&mut byte, last);
        read.context(IoSnafu { path: &self.path })?;
        if byte == *b"\n" { Ok(()) } else { self.append("") }
    }

    fn length(&self) -> Result<u64, OutputError> {
        let metadata = self.file.metadata().context(IoSnafu { path: &self.path })?;
        Ok(metadata.len())
    }

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

    fn read(folder: &RunFolder) -> Vec<u8> {
        let mut all = Vec::new();
        folder.read_records(|piece| all.extend_from_slice(piece)).unwrap();
        all
    }

    #[test]
    fn records_are_never_overwritten() {
        let scratch = tempfile::tempdir().unwrap();
        let (_, mut records) = RunFolder::create(scratch.path()).unwrap();
        records.append("one").unwrap();
        drop(records);
        assert!(matches!(
            RunFolder::create(scratch.path()),
            Err(OutputError::Occupied { .. })
        ));
    }

    #[test]
    fn records_have_one_writer() {
        let scratch = tempfile::tempdir().unwrap();
        let (folder, records) = RunFolder::create(scratch.path()).unwrap();
        assert!(matches!(folder.lock_records(), Err(OutputError::Busy { .. })));
        drop(records);
        folder.lock_records().unwrap();
    }

    #[test]
    fn an_unfinished_line_is_ended_before_the_next_stream() {
        let scratch = tempfile::tempdir().unwrap();
        let (folder, mut records) = RunFolder::create(scratch.path()).unwrap();
        records.end_unfinished_line().unwrap();
        fs::write(folder.records(), "whole\nhalf").unwrap();
        records.end_unfinished_line().unwrap();
        records.append("next").unwrap();
        records.end_unfinished_line().unwrap();
        assert_eq!(read(&folder), b"whole\nhalf\nnext\n");
    }

    #[test]
    fn a_long_file_is_read_in_pieces() {
        let scratch = tempfile::tempdir().unwrap();
        let (folder, _records) = RunFolder::create(scratch.path()).unwrap();
        let text: Vec<u8> = (0..=250).cycle().take(PIECE_BYTES * 2 + 7).collect();
        fs::write(folder.records(), &text).unwrap();
        let mut longest = 0;
        folder
            .read_records(|piece| longest = longest.max(piece.len()))
            .unwrap();
        assert!(longest <= PIECE_BYTES);
        assert!(read(&folder) == text);
    }

    #[test]
    fn a_folder_without_a_run_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let error = RunFolder::open(scratch.path()).unwrap_err();
        assert!(error.to_string().contains("run.json"), "{error}");
    }
}
