//! Finds the instrument's program. I/O: looks at the file system.

use std::env;
use std::path::{Path, PathBuf};

use snafu::Snafu;

const PROGRAM: &str = "fabricbench-runner";

/// Why there is no instrument.
#[derive(Debug, Snafu)]
pub enum RunnerError {
    /// The path that was given leads nowhere.
    #[snafu(display("--runner {}: there is no such file", path.display()))]
    NotThere {
        /// The path.
        path: PathBuf,
    },
    /// It is in none of the usual places.
    #[snafu(display(
        "{PROGRAM} is neither beside this program nor in PATH: build it (make binaries) or name it with --runner"
    ))]
    NotFound,
}

/// The instrument's program: the one that was named, else the one beside this program, else the one in `PATH`.
///
/// # Errors
/// When there is none.
pub fn find_runner(named: Option<&Path>) -> Result<PathBuf, RunnerError> {
    if let Some(path) = named {
        let absolute = path.canonicalize().ok().filter(|path| path.is_file());
        return absolute.ok_or_else(|| RunnerError::NotThere {
            path: path.to_owned(),
        });
    }
    let beside = env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.join(PROGRAM)));
    let in_path = env::var_os("PATH").unwrap_or_default();
    let candidates = beside
        .into_iter()
        .chain(env::split_paths(&in_path).map(|folder| folder.join(PROGRAM)));
    candidates
        .into_iter()
        .find(|path| path.is_file())
        .ok_or(RunnerError::NotFound)
}
