//! Finds the instrument's program. I/O: looks at the file system.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use snafu::Snafu;

const PROGRAM: &str = "fabricbench-runner";

/// Why there is no instrument.
#[derive(Debug, Snafu)]
pub enum RunnerError {
    /// The path that was given leads nowhere.
    #[snafu(display("--runner {}: there is no file to start", path.display()))]
    NotThere {
        /// The path.
        path: PathBuf,
    },
    /// It is something else.
    #[snafu(display("--runner {}: this is no {PROGRAM} ({why})", path.display()))]
    Other {
        /// The path.
        path: PathBuf,
        /// What it did when it was asked for its version.
        why: String,
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
/// When there is none, or the one that was named does not answer as it should.
pub fn find_runner(named: Option<&Path>) -> Result<PathBuf, RunnerError> {
    if let Some(path) = named {
        let absolute = path.canonicalize().ok().filter(|path| path.is_file());
        let absolute = absolute.ok_or_else(|| RunnerError::NotThere {
            path: path.to_owned(),
        })?;
        return match ask_version(&absolute) {
            Ok(()) => Ok(absolute),
            Err(why) => Err(RunnerError::Other {
                path: path.to_owned(),
                why,
            }),
        };
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

/// Whether the program says by its version that it is the instrument.
fn ask_version(path: &Path) -> Result<(), String> {
    let answer = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&answer.stdout);
    if said.starts_with(PROGRAM) {
        Ok(())
    } else {
        Err(format!(
            "asked for its version: {}, {:.60?}",
            answer.status,
            said.lines().next().unwrap_or_default()
        ))
    }
}
