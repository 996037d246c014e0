//! The run directory, which contains `records.jsonl`, `run.json` and `report.html`. Performs I/O.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crds::deserialization::{Unreadable, from_json, from_value};
use crds::file_error::{cause, with_remedy};
use crds::v1alpha1::BenchmarkRun;
use kube::Resource;
use serde::de::Error as _;
use serde_json::Value;
use snafu::{ResultExt, Snafu, ensure};

use crate::files;

/// Maximum size of a local run's records, in bytes. The size is limited because the evaluation holds verified records
/// in memory.
pub(super) const MAX_PLANNED_BYTES: u64 = 1024 * 1024 * 1024;
/// Maximum size of a record file that is read, in bytes: four times the maximum for a plan, to allow for failed
/// attempts.
const MAX_RECORDS_BYTES: u64 = 4 * MAX_PLANNED_BYTES;
/// Name of the record file, in the run directory and in a run's status.
pub(crate) const RECORDS_FILE: &str = "records.jsonl";
/// Size of the chunks in which a record file is read.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Maximum size of a `run.json` that is read, in bytes. It exceeds the size limit of Kubernetes objects.
const MAX_RUN_BYTES: u64 = 4 * 1024 * 1024;

/// Error using a run directory.
#[derive(Debug, Snafu)]
pub(crate) enum OutputError {
    /// A file or directory could not be read or written.
    #[snafu(display("{}: {}", path.display(), with_remedy(source)))]
    Io {
        /// Path to the file or directory.
        path: PathBuf,
        /// Operating system error.
        source: io::Error,
    },
    /// The directory could not be created.
    #[snafu(display(
        "cannot create the output directory {}: {}. Choose another one with --output",
        path.display(),
        cause(source)
    ))]
    Create {
        /// Path to the directory.
        path: PathBuf,
        /// Operating system error.
        source: io::Error,
    },
    /// A record could not be appended.
    #[snafu(display(
        "cannot append to {}: {}. Earlier records are kept: free disk space and continue with --resume",
        path.display(),
        cause(source)
    ))]
    Append {
        /// Path to the record file.
        path: PathBuf,
        /// Operating system error.
        source: io::Error,
    },
    /// The directory contains records that a new run would overwrite.
    #[snafu(display(
        "{} already contains measured records: continue that run with `fabricbench run FILE --resume {}`, or choose another \
         directory with --output",
        path.display(),
        parent(path).display()
    ))]
    HasRecords {
        /// Path to the directory.
        path: PathBuf,
    },
    /// Another process is writing the records.
    #[snafu(display(
        "another fabricbench process is writing to {}: wait until it exits, or choose another directory with --output",
        path.display()
    ))]
    Locked {
        /// Path to the record file.
        path: PathBuf,
    },
    /// The directory contains no run.
    #[snafu(display(
        "{} is not a run directory: it {problem}. Specify the output directory of a run",
        path.display()
    ))]
    NotARun {
        /// Path to the directory.
        path: PathBuf,
        /// What distinguishes it from a run directory.
        problem: String,
    },
    /// A file exceeds the maximum size.
    #[snafu(display("{} is {length} bytes long; the limit is {limit}", path.display()))]
    TooLarge {
        /// Path to the file.
        path: PathBuf,
        /// Size of the file in bytes.
        length: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// `run.json` is not a valid BenchmarkRun.
    #[snafu(display(
        "{} is not a BenchmarkRun: {source}. Restore the file, or measure again",
        path.display()
    ))]
    InvalidRun {
        /// Path to the file.
        path: PathBuf,
        /// The field that cannot be read, and the cause.
        source: Unreadable,
    },
}

/// Parent of a run directory, as passed to `--resume`.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Directory of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Creates the directory and locks its record file.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, already contains records or is locked by another process.
    pub(crate) fn create(path: &Path) -> Result<(Self, RecordFile), OutputError> {
        let directory = Self {
            path: path.to_owned(),
        };
        fs::create_dir_all(path).context(CreateSnafu { path })?;
        let records = directory.lock_records()?;
        ensure!(records.length()? == 0, HasRecordsSnafu { path });
        Ok((directory, records))
    }

    /// Opens the directory of an earlier run.
    ///
    /// # Errors
    /// Returns an error if `path` contains no `run.json`.
    pub(crate) fn open(path: &Path) -> Result<Self, OutputError> {
        let directory = Self {
            path: path.to_owned(),
        };
        let problem = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
            Err(error) => format!("cannot be read ({})", cause(&error)),
            Ok(found) if !found.is_dir() => "is a file".to_owned(),
            Ok(_) => "has no run.json".to_owned(),
        };
        ensure!(directory.run_path().is_file(), NotARunSnafu { path, problem });
        Ok(directory)
    }

    /// Returns all run directories in `path`, sorted by name. Returns an empty list if `path` cannot be read.
    pub(crate) fn find_all(path: &Path) -> Vec<Self> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().flat_map(|path| Self::open(path)).collect()
    }

    /// Path to the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of `records.jsonl`, which contains the record streams as received.
    pub(crate) fn records_path(&self) -> PathBuf {
        self.path.join(RECORDS_FILE)
    }

    /// Path of `run.json`, which contains the BenchmarkRun with its status, as in a cluster.
    pub(crate) fn run_path(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// Path of `report.html`.
    pub(crate) fn report_path(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Calls `consume` with the records in chunks, which may end in the middle of a line. Does nothing if the file does
    /// not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is too large.
    pub(crate) fn read_records(&self, mut consume: impl FnMut(&[u8])) -> Result<(), OutputError> {
        let path = self.records_path();
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.context(IoSnafu { path: &path })?,
        };
        let length = file.metadata().context(IoSnafu { path: &path })?.len();
        let limit = MAX_RECORDS_BYTES;
        ensure!(length <= limit, TooLargeSnafu { path, length, limit });
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => consume(chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(OutputError::Io { path, source }),
            }
        }
    }

    /// Reads the BenchmarkRun.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a valid BenchmarkRun.
    pub(crate) fn read_run(&self) -> Result<BenchmarkRun, OutputError> {
        let path = self.run_path();
        let value = self.read_json()?;
        for (field, expected) in [
            ("apiVersion", BenchmarkRun::api_version(&())),
            ("kind", BenchmarkRun::kind(&())),
        ] {
            let given = &value[field];
            if *given != *expected {
                let rule = format!("{given} is not supported; use {expected}");
                let source = Unreadable::custom(rule).in_field(field);
                return Err(OutputError::InvalidRun { path, source });
            }
        }
        from_value(&value).context(InvalidRunSnafu { path })
    }

    /// Reads the status of the BenchmarkRun as it is written in the file, with fields that are set to their default.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not JSON.
    pub(crate) fn read_status(&self) -> Result<Value, OutputError> {
        Ok(self.read_json()?["status"].take())
    }

    fn read_json(&self) -> Result<Value, OutputError> {
        let path = self.run_path();
        let bytes = read_bounded(&path, MAX_RUN_BYTES)?;
        from_json(&String::from_utf8_lossy(&bytes)).context(InvalidRunSnafu { path })
    }

    /// Writes the BenchmarkRun atomically: concurrent readers see either the old or the new version.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(crate) fn write_run(&self, run: &BenchmarkRun) -> Result<(), OutputError> {
        let path = self.run_path();
        let mut text = serde_json::to_vec_pretty(run)
            .map_err(io::Error::from)
            .context(IoSnafu { path: &path })?;
        text.push(b'\n');
        files::replace(&path, &text).context(IoSnafu { path })
    }

    /// Writes the HTML report.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(crate) fn write_report(&self, html: &str) -> Result<(), OutputError> {
        let path = self.report_path();
        files::replace(&path, html.as_bytes()).context(IoSnafu { path })
    }

    /// Opens the record file for appending and locks it until the returned value is dropped.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or another process has locked it.
    pub(crate) fn lock_records(&self) -> Result<RecordFile, OutputError> {
        let path = self.records_path();
        let opened = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path);
        let file = opened.context(IoSnafu { path: &path })?;
        match file.try_lock() {
            Ok(()) => Ok(RecordFile { file, path }),
            Err(TryLockError::WouldBlock) => LockedSnafu { path }.fail(),
            Err(TryLockError::Error(source)) => Err(OutputError::Io { path, source }),
        }
    }
}

/// `records.jsonl`, opened for appending and locked by this process.
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: File,
    path: PathBuf,
}

impl RecordFile {
    /// Appends a newline if an earlier attempt left an incomplete line, so that the next stream starts on a new line.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub(crate) fn terminate_incomplete_line(&mut self) -> Result<(), OutputError> {
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
    /// Returns an error if the line cannot be written. Earlier lines are kept.
    pub(crate) fn append(&mut self, line: &str) -> Result<(), OutputError> {
        let path = &self.path;
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .context(AppendSnafu { path })
    }

    /// Flushes all lines to disk.
    ///
    /// # Errors
    /// Returns an error if the operating system reports an error.
    pub(crate) fn sync(&self) -> Result<(), OutputError> {
        self.file.sync_data().context(IoSnafu { path: &self.path })
    }
}

fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, OutputError> {
    let length = fs::metadata(path).context(IoSnafu { path })?.len();
    ensure!(length <= limit, TooLargeSnafu { path, length, limit });
    fs::read(path).context(IoSnafu { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(directory: &RunDirectory) -> Vec<u8> {
        let mut all = Vec::new();
        directory
            .read_records(|chunk| all.extend_from_slice(chunk))
            .unwrap();
        all
    }

    #[test]
    fn does_not_overwrite_records() {
        let temporary = tempfile::tempdir().unwrap();
        let (_, mut records) = RunDirectory::create(temporary.path()).unwrap();
        records.append("one").unwrap();
        drop(records);
        assert!(matches!(
            RunDirectory::create(temporary.path()),
            Err(OutputError::HasRecords { .. })
        ));
    }

    #[test]
    fn locks_records_for_a_single_writer() {
        let temporary = tempfile::tempdir().unwrap();
        let (directory, records) = RunDirectory::create(temporary.path()).unwrap();
        assert!(matches!(
            directory.lock_records(),
            Err(OutputError::Locked { .. })
        ));
        drop(records);
        directory.lock_records().unwrap();
    }

    #[test]
    fn terminates_an_incomplete_line_before_the_next_stream() {
        let temporary = tempfile::tempdir().unwrap();
        let (directory, mut records) = RunDirectory::create(temporary.path()).unwrap();
        records.terminate_incomplete_line().unwrap();
        fs::write(directory.records_path(), "whole\nhalf").unwrap();
        records.terminate_incomplete_line().unwrap();
        records.append("next").unwrap();
        records.terminate_incomplete_line().unwrap();
        assert_eq!(read(&directory), b"whole\nhalf\nnext\n");
    }

    #[test]
    fn reads_a_large_file_in_chunks() {
        let temporary = tempfile::tempdir().unwrap();
        let (directory, _records) = RunDirectory::create(temporary.path()).unwrap();
        let text: Vec<u8> = (0..=250).cycle().take(CHUNK_BYTES * 2 + 7).collect();
        fs::write(directory.records_path(), &text).unwrap();
        let mut longest = 0;
        directory
            .read_records(|chunk| longest = longest.max(chunk.len()))
            .unwrap();
        assert!(longest <= CHUNK_BYTES);
        assert!(read(&directory) == text);
    }

    #[test]
    fn rejects_a_directory_without_a_run() {
        let temporary = tempfile::tempdir().unwrap();
        let error = RunDirectory::open(temporary.path()).unwrap_err();
        assert!(error.to_string().contains("run.json"), "{error}");
        let error = RunDirectory::open(&temporary.path().join("mistyped")).unwrap_err();
        assert!(error.to_string().contains("it does not exist"), "{error}");
    }

    #[test]
    fn a_damaged_run_is_described_with_the_field_and_without_words_of_the_parser() {
        let temporary = tempfile::tempdir().unwrap();
        let valid = |spec: &str| {
            format!(
                "{{\"apiVersion\":\"fabricbench.dev/v1alpha1\",\"kind\":\"BenchmarkRun\",\"metadata\":{{}},\"spec\":{spec}}}"
            )
        };
        for (text, expected) in [
            (
                "{".to_owned(),
                "run.json is not a BenchmarkRun: the text ends before the JSON value is complete",
            ),
            (
                "{}".to_owned(),
                "run.json is not a BenchmarkRun: apiVersion: null is not supported; use fabricbench.dev/v1alpha1",
            ),
            (
                valid("3"),
                "run.json is not a BenchmarkRun: spec: 3 is not valid here; use",
            ),
            (
                valid("{}"),
                "run.json is not a BenchmarkRun: spec.baseline: is missing",
            ),
        ] {
            fs::write(temporary.path().join("run.json"), text).unwrap();
            let directory = RunDirectory::open(temporary.path()).unwrap();
            let error = directory.read_run().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(error.ends_with("Restore the file, or measure again"), "{error}");
        }
    }
}
