//! Finds the runner binary. Performs I/O: reads the file system and runs the binary with `--version`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use snafu::Snafu;

const RUNNER_NAME: &str = "fabricbench-runner";

/// Error finding the runner binary.
#[derive(Debug, Snafu)]
pub(crate) enum RunnerError {
    /// The given path is not a file.
    #[snafu(display("--runner {}: no such file", path.display()))]
    NoFile {
        /// The given path.
        path: PathBuf,
    },
    /// The given file is not a runner binary.
    #[snafu(display("--runner {}: not a {RUNNER_NAME} binary ({reason})", path.display()))]
    NotARunner {
        /// The given path.
        path: PathBuf,
        /// Result of running the file with `--version`.
        reason: String,
    },
    /// The default locations do not contain the runner binary.
    #[snafu(display(
        "{RUNNER_NAME} not found next to this binary or in PATH: build it with `make binaries`, or set --runner"
    ))]
    NotFound,
}

/// Returns the path of the runner binary: `path` if given, otherwise the runner next to this binary or in `PATH`.
///
/// # Errors
/// Returns an error if no runner is found, or the binary at `path` is not a runner.
pub(crate) fn find_runner(path: Option<&Path>) -> Result<PathBuf, RunnerError> {
    if let Some(path) = path {
        let absolute = path.canonicalize().ok().filter(|path| path.is_file());
        let absolute = absolute.ok_or_else(|| RunnerError::NoFile {
            path: path.to_owned(),
        })?;
        return match verify_is_runner(&absolute) {
            Ok(()) => Ok(absolute),
            Err(reason) => Err(RunnerError::NotARunner {
                path: path.to_owned(),
                reason,
            }),
        };
    }
    let sibling = env::current_exe()
        .ok()
        .and_then(|binary| Some(binary.parent()?.join(RUNNER_NAME)));
    let search_path = env::var_os("PATH").unwrap_or_default();
    let candidates = sibling
        .into_iter()
        .chain(env::split_paths(&search_path).map(|directory| directory.join(RUNNER_NAME)));
    candidates
        .into_iter()
        .find(|path| path.is_file())
        .ok_or(RunnerError::NotFound)
}

/// Checks that `path` is a runner binary, by running it with `--version`. The error describes the output.
fn verify_is_runner(path: &Path) -> Result<(), String> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if stdout.starts_with(RUNNER_NAME) {
        Ok(())
    } else {
        Err(format!(
            "--version: {}, output {:.60?}",
            output.status,
            stdout.lines().next().unwrap_or_default()
        ))
    }
}
