//! Working directory of an instrument process. Creates and removes a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directory that is empty when an instrument starts in it. UCX reads `ucx.conf` from the working directory, so this
/// directory must not be the one in which the user started the runner.
///
/// When this value is dropped, the directory is removed unless the instrument's libraries have written files to it,
/// such as logs with a relative path. In that case, the directory and the files are left in place.
#[derive(Debug)]
pub(super) struct WorkingDirectory(PathBuf);

impl WorkingDirectory {
    /// Creates the directory in the system's temporary directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub(super) fn create() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("fabricbench-").tempdir()?;
        Ok(Self(directory.keep()))
    }

    /// Path of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for WorkingDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            tracing::warn!(
                directory = %self.0.display(),
                %error,
                "an instrument's working directory was not removed"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_directory_is_removed_and_files_are_kept() {
        let directory = WorkingDirectory::create().unwrap();
        let path = directory.path().to_owned();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        drop(directory);
        assert!(!path.exists());

        let directory = WorkingDirectory::create().unwrap();
        let log = directory.path().join("ucx.log");
        fs::write(&log, "lane").unwrap();
        drop(directory);
        assert_eq!(fs::read_to_string(&log).unwrap(), "lane");
        fs::remove_dir_all(log.parent().unwrap()).unwrap();
    }
}
