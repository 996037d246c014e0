//! File with the latest version, for `Filesystem` mode. The trainer replaces it by renaming a complete file, and the
//! workers read it.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::parameters::{HEADER_BYTES, Parameters, Verification, load_from, store_in};

/// Name prefix of all stores.
const PREFIX: &str = "fabricbench-parameters-";
/// Age beyond which no trainer can still be writing a file, because the deadline of every case is shorter.
const ABANDONED_AFTER: Duration = Duration::from_hours(24);

/// Store that the trainer writes. Its files are removed when this value is dropped.
#[derive(Debug)]
pub struct StoreWriter {
    path: PathBuf,
    temporary: PathBuf,
    prepared: Vec<u8>,
}

/// Store that a worker reads.
#[derive(Debug)]
pub struct StoreReader {
    path: PathBuf,
    buffer: Vec<u8>,
}

/// Result of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchResult {
    /// There is no version yet, or the latest version is not newer than the one that the worker has.
    NotNewer,
    /// A newer version, whose bytes have all been verified.
    Newer(u64),
    /// The bytes belong to several versions.
    Torn,
}

fn store_path(directory: &Path, key: u64) -> PathBuf {
    directory.join(format!("{PREFIX}{key:016x}"))
}

/// Removes the files that killed trainers left behind. In `/dev/shm`, such files occupy memory.
///
/// # Errors
/// Returns the first error. If a file cannot be removed, the others are still removed.
fn remove_abandoned(directory: &Path) -> io::Result<()> {
    let mut removed = Ok(());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            match remove_if_abandoned(&entry) {
                // Other trainers rename and remove their files concurrently.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => removed = removed.and(result),
            }
        }
    }
    removed
}

fn remove_if_abandoned(entry: &DirEntry) -> io::Result<()> {
    let modified = entry.metadata()?.modified()?;
    match SystemTime::now().duration_since(modified) {
        Ok(age) if age > ABANDONED_AFTER => fs::remove_file(entry.path()),
        _ => Ok(()),
    }
}

impl StoreWriter {
    /// Creates an empty file in `directory`, so that workers can check that they see the same directory. Before that,
    /// files that killed trainers left behind more than a day ago are removed from the directory.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(directory: &Path, parameters: &Parameters, key: u64) -> io::Result<Self> {
        if let Err(error) = remove_abandoned(directory) {
            tracing::warn!(directory = %directory.display(), %error, "some files of earlier runs were not removed");
        }
        let path = store_path(directory, key);
        let writer = Self {
            temporary: path.with_extension("new"),
            path,
            prepared: vec![0; parameters.size()],
        };
        File::create_new(&writer.path)?;
        Ok(writer)
    }

    /// Creates the bytes of `version` in memory, for [`StoreWriter::publish`].
    pub fn prepare(&mut self, parameters: &mut Parameters, version: u64) {
        let Ok(()) = parameters.create(version, store_in(&mut self.prepared));
    }

    /// Writes the prepared version to a new file, and replaces the latest version with it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written or renamed.
    pub fn publish(&mut self) -> io::Result<()> {
        let mut file = File::create(&self.temporary)?;
        file.write_all(&self.prepared)?;
        drop(file);
        fs::rename(&self.temporary, &self.path)
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // The temporary file exists only if a publication has failed.
        let _ = fs::remove_file(&self.temporary);
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the file with the parameters was not removed");
        }
    }
}

impl StoreReader {
    /// Opens the store that the trainer has created in `directory`.
    ///
    /// # Errors
    /// Returns an error if the trainer's file is not in the directory.
    pub fn open(directory: &Path, parameters: &Parameters, key: u64) -> io::Result<Self> {
        let path = store_path(directory, key);
        fs::metadata(&path)?;
        Ok(Self {
            path,
            buffer: vec![0; parameters.size()],
        })
    }

    /// Reads the latest version if it is newer than `held`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn fetch(&mut self, parameters: &mut Parameters, held: Option<u64>) -> io::Result<FetchResult> {
        let mut file = File::open(&self.path)?;
        if file.metadata()?.len() == 0 {
            return Ok(FetchResult::NotNewer);
        }
        let mut header = [0; HEADER_BYTES];
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(FetchResult::Torn),
            read => read?,
        }
        let Some(version) = parameters.header_version(&header) else {
            return Ok(FetchResult::Torn);
        };
        if held.is_some_and(|held| version <= held) {
            return Ok(FetchResult::NotNewer);
        }
        self.buffer[..HEADER_BYTES].copy_from_slice(&header);
        match file.read_exact(&mut self.buffer[HEADER_BYTES..]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(FetchResult::Torn),
            read => read?,
        }
        let Ok(verified) = parameters.verify(load_from(&self.buffer));
        Ok(match verified {
            Verification::Intact(version) => FetchResult::Newer(version),
            Verification::Torn => FetchResult::Torn,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 99;
    const SIZE: u64 = 100_000;

    #[test]
    fn workers_read_each_newer_version_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut parameters = Parameters::new(KEY, SIZE);
        assert!(StoreReader::open(dir.path(), &parameters, KEY).is_err());
        let mut writer = StoreWriter::create(dir.path(), &parameters, KEY).unwrap();
        let mut reader = StoreReader::open(dir.path(), &parameters, KEY).unwrap();
        assert_eq!(
            reader.fetch(&mut parameters, None).unwrap(),
            FetchResult::NotNewer
        );
        for version in [0, 3] {
            writer.prepare(&mut parameters, version);
            writer.publish().unwrap();
            let held = version.checked_sub(1);
            assert_eq!(
                reader.fetch(&mut parameters, held).unwrap(),
                FetchResult::Newer(version)
            );
            assert_eq!(
                reader.fetch(&mut parameters, Some(version)).unwrap(),
                FetchResult::NotNewer
            );
        }
        drop(writer);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_of_killed_trainers_are_removed_after_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let file_of_age = |name: &str, hours| {
            let path = dir.path().join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_hours(hours))
                .unwrap();
            path
        };
        let removed = [
            file_of_age("fabricbench-parameters-1", 25),
            file_of_age("fabricbench-parameters-1.new", 25),
        ];
        let kept = [
            file_of_age("fabricbench-parameters-2", 23),
            file_of_age("checkpoint", 25),
        ];
        let writer = StoreWriter::create(dir.path(), &Parameters::new(KEY, SIZE), KEY).unwrap();
        assert_eq!(removed.map(|path| path.exists()), [false; 2]);
        assert_eq!(kept.map(|path| path.exists()), [true; 2]);
        drop(writer);
    }

    #[test]
    fn file_that_is_written_in_place_is_torn() {
        let dir = tempfile::tempdir().unwrap();
        let mut parameters = Parameters::new(KEY, SIZE);
        let mut writer = StoreWriter::create(dir.path(), &parameters, KEY).unwrap();
        let mut reader = StoreReader::open(dir.path(), &parameters, KEY).unwrap();
        writer.prepare(&mut parameters, 1);
        writer.publish().unwrap();
        let old = fs::read(&writer.path).unwrap();
        writer.prepare(&mut parameters, 2);
        for length in [1, HEADER_BYTES, 50_000, SIZE as usize - 8] {
            let mut mixed = old.clone();
            mixed[..length].copy_from_slice(&writer.prepared[..length]);
            fs::write(&writer.path, &mixed).unwrap();
            assert_eq!(
                reader.fetch(&mut parameters, None).unwrap(),
                FetchResult::Torn,
                "{length}"
            );
            // A partially written file is also torn.
            fs::write(&writer.path, &writer.prepared[..length]).unwrap();
            assert_eq!(
                reader.fetch(&mut parameters, None).unwrap(),
                FetchResult::Torn,
                "{length}"
            );
        }
    }
}
