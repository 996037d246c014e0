//! The runner brings itself into a folder, from which images that have none start it. Copies one file.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use snafu::{ResultExt, Snafu};

/// This program, as the kernel knows it: also where its file was moved or replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Name of the copy.
const NAME: &str = "fabricbench-runner";

/// Why there is no copy.
#[derive(Debug, Snafu)]
#[snafu(display("{what} {}: {source}", path.display()))]
pub struct InstallError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Copies this program into `folder`, where it is there whole or not at all, and executable for everyone.
///
/// # Errors
/// When this program cannot be read or the copy not be written.
pub fn install(folder: &Path) -> Result<PathBuf, InstallError> {
    let path = folder.join(NAME);
    let part = folder.join(format!(".{NAME}.part"));
    let mut program = File::open(OWN_PROGRAM).context(InstallSnafu {
        what: "reading",
        path: OWN_PROGRAM,
    })?;
    let written = File::create(&part).and_then(|mut copy| {
        io::copy(&mut program, &mut copy)?;
        copy.set_permissions(Permissions::from_mode(0o755))?;
        copy.sync_all()
    });
    written.context(InstallSnafu {
        what: "writing",
        path: &part,
    })?;
    fs::rename(&part, &path).context(InstallSnafu {
        what: "renaming to",
        path: &path,
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn the_copy_is_this_program_and_replaces_an_older_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "older").unwrap();
        let path = install(folder.path()).unwrap();
        let own = fs::read(env::current_exe().unwrap()).unwrap();
        assert!(fs::read(&path).unwrap() == own);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let refused = install(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(
            refused.to_string().starts_with("writing /nowhere/at/all/"),
            "{refused}"
        );
    }
}
