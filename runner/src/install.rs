//! Copies the runner binary to a directory, so that containers whose image does not contain the binary can start it.
//! Performs I/O.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crds::file_error::with_remedy;
use snafu::{ResultExt, Snafu};

/// Path of the running binary. It remains valid when the file is moved or replaced.
const RUNNING_BINARY: &str = "/proc/self/exe";
/// File name of the copy.
const NAME: &str = "fabricbench-runner";

/// Error that occurred while copying the binary.
#[derive(Debug, Snafu)]
#[snafu(display("{action} {} failed: {}", path.display(), with_remedy(source)))]
pub struct InstallError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Copies this binary atomically to `directory`, makes the copy executable for all users, and returns its path.
///
/// # Errors
/// Returns an error if the binary cannot be read or the copy cannot be written.
pub fn install(directory: &Path) -> Result<PathBuf, InstallError> {
    let path = directory.join(NAME);
    let part = directory.join(format!(".{NAME}.part"));
    let mut binary = File::open(RUNNING_BINARY).context(InstallSnafu {
        action: "reading",
        path: RUNNING_BINARY,
    })?;
    let written = File::create(&part).and_then(|mut copy| {
        io::copy(&mut binary, &mut copy)?;
        copy.set_permissions(Permissions::from_mode(0o755))?;
        copy.sync_all()
    });
    written.context(InstallSnafu {
        action: "writing",
        path: &part,
    })?;
    fs::rename(&part, &path).context(InstallSnafu {
        action: "renaming to",
        path: &path,
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn replaces_an_older_copy_with_this_binary() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(NAME), "older").unwrap();
        let path = install(directory.path()).unwrap();
        let own = fs::read(env::current_exe().unwrap()).unwrap();
        assert!(fs::read(&path).unwrap() == own);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn reports_the_path_of_a_missing_directory() {
        let error = install(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(
            error.to_string().starts_with("writing /nowhere/at/all/"),
            "{error}"
        );
    }
}
