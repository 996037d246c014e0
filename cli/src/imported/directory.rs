//! Reads logs to import, and reads and writes an imported run's directory: `import.json`, the logs and `report.html`.
//! Performs I/O.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use command_output::import::{self, ImportError, Log, MAX_LOG_BYTES};
use crds::file_error::with_remedy;
use crds::printable::printable_line;
use crds::record::hex;
use sha2::{Digest, Sha256};
use snafu::{ResultExt, Snafu, ensure};

use super::{ImportedRun, ImportedRunError, MAX_LOGS, Manifest};
use crate::files;

/// Name of the file that describes an imported run.
pub const MANIFEST_FILE: &str = "import.json";
/// Maximum size of `import.json`, in bytes.
const MAX_MANIFEST_BYTES: usize = 1 << 20;
/// Maximum total size of the logs in a run, in bytes.
const MAX_TOTAL_BYTES: usize = 128 << 20;
const LOGS: &str = "logs";

/// Error reading or storing logs.
#[derive(Debug, Snafu)]
pub enum DirectoryError {
    /// A file or directory could not be read or written.
    #[snafu(display("{}: {}", path.display(), with_remedy(source)))]
    Io {
        /// Path to the file or directory.
        path: PathBuf,
        /// Operating system error.
        source: io::Error,
    },
    /// The path is a directory or a device.
    #[snafu(display("{} is not a regular file. Write the log to a file first", path.display()))]
    NoFile {
        /// Path that is not a regular file.
        path: PathBuf,
    },
    /// A log cannot be imported.
    #[snafu(display("{}: {source}", path.display()))]
    Log {
        /// Path to the log.
        path: PathBuf,
        /// Why the log cannot be imported.
        #[snafu(source(from(ImportError, Box::new)))]
        source: Box<ImportError>,
    },
    /// The total size of the logs is too large.
    #[snafu(display(
        "the total size of the logs exceeds {} MiB. Import fewer logs, or remove the log lines of libraries from them",
        MAX_TOTAL_BYTES >> 20
    ))]
    TooLong,
    /// The directory contains a run.
    #[snafu(display(
        "{} already contains a run. Choose another --name or another directory with --output",
        path.display()
    ))]
    HasRun {
        /// Path to the directory.
        path: PathBuf,
    },
    /// `import.json` is invalid.
    #[snafu(display("{}: invalid ImportedRun: {reason}. Import the logs again", path.display()))]
    InvalidManifest {
        /// Path to the file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// The directory contains a measured and an imported run.
    #[snafu(display(
        "{} contains both an imported and a measured run. Move import.json or run.json to another directory",
        path.display()
    ))]
    TwoRuns {
        /// Path to the directory.
        path: PathBuf,
    },
    /// A stored log was changed.
    #[snafu(display(
        "{} was changed after the import: its SHA-256 is {found}, but import.json contains {expected}. Restore the file, or \
         import the logs again",
        path.display()
    ))]
    Changed {
        /// Path to the log.
        path: PathBuf,
        /// SHA-256 hash of the log.
        found: String,
        /// SHA-256 hash of the log when it was imported.
        expected: String,
    },
    /// The logs cannot be combined into a run.
    #[snafu(display("{}: {source}", path.display()))]
    Combine {
        /// Path to the directory.
        path: PathBuf,
        /// Why the logs cannot be combined.
        #[snafu(source(from(ImportedRunError, Box::new)))]
        source: Box<ImportedRunError>,
    },
}

/// Content of a log file.
#[derive(Debug)]
pub struct LogFile {
    /// Path to the log file.
    pub path: PathBuf,
    bytes: Vec<u8>,
    /// SHA-256 hash of the content.
    pub sha256: String,
}

impl LogFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Returns an error if it is not a regular file or cannot be read. If the file is too long, only its beginning is
    /// read, and [`Self::results`] rejects it.
    pub fn read(path: &Path) -> Result<Self, DirectoryError> {
        let bytes = read_bounded(path, MAX_LOG_BYTES)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        Ok(Self {
            path: path.to_owned(),
            bytes,
            sha256,
        })
    }

    /// Name of the program that wrote the log, if it is known without reading the results.
    pub fn program(&self, manifest: &Manifest) -> Option<String> {
        import::program(manifest.tool, &self.bytes)
    }

    /// Parses the results as output of the tool in `manifest`.
    ///
    /// # Errors
    /// Returns an error if the content is not the complete log of exactly one run of the tool.
    pub fn results(&self, manifest: &Manifest) -> Result<Log, DirectoryError> {
        let path = &self.path;
        import::read(manifest.tool, manifest.pattern.as_ref(), &self.bytes).context(LogSnafu { path })
    }
}

/// Reads the logs at `paths`.
///
/// # Errors
/// Returns an error if a log cannot be read, or the total size of the logs is too large.
pub fn read_logs<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<Vec<LogFile>, DirectoryError> {
    let mut total = 0;
    let mut logs = Vec::new();
    for path in paths {
        let log = LogFile::read(path)?;
        total += log.bytes.len();
        ensure!(total <= MAX_TOTAL_BYTES, TooLongSnafu);
        logs.push(log);
    }
    Ok(logs)
}

/// Writes an imported run to `directory`. `import.json` is written last, so that the run is either complete or absent.
///
/// # Errors
/// Returns an error if the directory contains a run, or a file cannot be written.
pub fn write(
    directory: &Path,
    manifest: &Manifest,
    logs: &[LogFile],
    report: &str,
) -> Result<(), DirectoryError> {
    let has_run = ["run.json", "records.jsonl", MANIFEST_FILE].map(|name| directory.join(name).exists());
    ensure!(has_run == [false; 3], HasRunSnafu { path: directory });
    let logs_directory = directory.join(LOGS);
    fs::create_dir_all(&logs_directory).context(IoSnafu {
        path: &logs_directory,
    })?;
    for (index, log) in logs.iter().enumerate() {
        let path = log_path(directory, index);
        fs::write(&path, &log.bytes).context(IoSnafu { path })?;
    }
    let path = directory.join("report.html");
    fs::write(&path, report).context(IoSnafu { path })?;
    let path = directory.join(MANIFEST_FILE);
    let invalid = |error: serde_json::Error| DirectoryError::InvalidManifest {
        path: path.clone(),
        reason: error.to_string(),
    };
    let mut text = serde_json::to_vec_pretty(manifest).map_err(invalid)?;
    text.push(b'\n');
    files::replace(&path, &text).context(IoSnafu { path })
}

/// Whether `directory` contains an imported run.
pub fn is_imported(directory: &Path) -> bool {
    directory.join(MANIFEST_FILE).is_file()
}

/// Recomputes the imported run in `directory` from its logs.
///
/// # Errors
/// Returns an error if a file is missing, invalid, or was changed after the import.
pub fn load(directory: &Path) -> Result<ImportedRun, DirectoryError> {
    ensure!(
        !directory.join("run.json").exists(),
        TwoRunsSnafu { path: directory }
    );
    let path = directory.join(MANIFEST_FILE);
    let bytes = read_bounded(&path, MAX_MANIFEST_BYTES)?;
    let invalid = |reason: String| DirectoryError::InvalidManifest {
        path: path.clone(),
        reason,
    };
    let mut manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    // Reports print these texts within a line.
    let stored = manifest.logs.iter_mut();
    let texts = stored.flat_map(|log| [&mut log.variant, &mut log.source]);
    for text in texts.chain([&mut manifest.name]) {
        *text = printable_line(text).into_owned();
    }
    if !(1..=MAX_LOGS).contains(&manifest.logs.len()) {
        return Err(invalid(format!("it has {} logs", manifest.logs.len())));
    }
    let mut logs = Vec::new();
    for (index, stored) in manifest.logs.iter().enumerate() {
        let file = LogFile::read(&log_path(directory, index))?;
        ensure!(
            file.sha256 == stored.sha256,
            ChangedSnafu {
                path: &file.path,
                found: &file.sha256,
                expected: &stored.sha256
            }
        );
        logs.push(file.results(&manifest)?);
    }
    ImportedRun::new(manifest, &logs).context(CombineSnafu { path: directory })
}

/// Path to the stored log with the given index. It is derived only from the index, so that `import.json` cannot refer
/// to a file elsewhere.
fn log_path(directory: &Path, index: usize) -> PathBuf {
    directory.join(LOGS).join(format!("{}.log", index + 1))
}

/// Reads a regular file, but at most one byte more than `limit`.
fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, DirectoryError> {
    // Opening a named pipe would wait for its writer.
    let metadata = fs::metadata(path).context(IoSnafu { path })?;
    ensure!(metadata.is_file(), NoFileSnafu { path });
    let mut bytes = Vec::new();
    let file = File::open(path).context(IoSnafu { path })?;
    let read = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.context(IoSnafu { path })?;
    Ok(bytes)
}
