//! Shell scripts that run on the workers' machines. They need only a POSIX shell and `sha256sum`.
//!
//! A shell reads its script from standard input and may read ahead. Each script therefore writes [`MARKER`] when all of it has
//! been read, and only then gets the rest of its input.

use crate::shell::word;

/// Line that a script writes first.
pub(super) const MARKER: &str = "--- fabricbench starts here ---";

/// Where the runner is kept on the workers' machines.
#[derive(Clone, Debug)]
pub(super) struct RunnerLocation {
    /// Directory that the user named.
    pub(super) directory: Option<String>,
    /// SHA-256 hash of the runner, in hexadecimal.
    pub(super) digest: String,
}

impl RunnerLocation {
    /// Sets `d` to the directory and `r` to the path of the runner.
    fn variables(&self) -> String {
        let directory = match &self.directory {
            Some(directory) => word(directory).into_owned(),
            None => "\"${XDG_CACHE_HOME:-${HOME:?is not set: give --worker-directory}/.cache}/fabricbench\""
                .to_owned(),
        };
        let name = self.digest.get(..16).unwrap_or(&self.digest);
        format!("umask 077\nd={directory}\nr=\"$d/fabricbench-runner-{name}\"\n")
    }

    /// Prints facts about the machine as lines of `NAME=VALUE`.
    pub(super) fn look(&self) -> String {
        format!(
            "{{\n{}echo '{MARKER}'\necho \"kernel=$(uname -s)\"\necho \"machine=$(uname -m)\"\n\
             echo \"ssh=$SSH_CONNECTION\"\necho \"addresses=$(hostname -I 2>/dev/null)\"\n\
             if [ -x \"$r\" ]; then s=$(sha256sum \"$r\"); echo \"digest=${{s%% *}}\"; fi\n\
             exit 0\n}}\n",
            self.variables()
        )
    }

    /// Stores standard input as the runner and runs it once. The name changes only when the copy is complete.
    pub(super) fn copy(&self) -> String {
        format!(
            "{{\n{}mkdir -p \"$d\" || exit 1\necho '{MARKER}'\nt=\"$r.$$\"\n\
             cat >\"$t\" && s=$(sha256sum \"$t\") && if [ \"${{s%% *}}\" != {} ]; then \
             echo 'the copy differs from the runner' >&2; false; fi && chmod 700 \"$t\" && \"$t\" --version && \
             mv \"$t\" \"$r\"\ne=$?\nrm -f \"$t\"\nexit $e\n}}\n",
            self.variables(),
            self.digest
        )
    }

    /// Becomes the worker with `rank`, with the level `log` of its own log, if it is set.
    pub(super) fn work(&self, rank: u32, log: Option<(&str, &str)>) -> String {
        let log = log.map(|(name, level)| format!("export {name}={}\n", word(level)));
        format!(
            "{{\n{}{}echo '{MARKER}'\nexec \"$r\" worker --assignment - --rank {rank}\n}}\n",
            self.variables(),
            log.unwrap_or_default()
        )
    }
}
