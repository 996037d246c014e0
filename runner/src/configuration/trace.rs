//! Files that the processes of a command load. glibc's dynamic loader lists them if `LD_DEBUG=libs` is set, for every
//! process that inherits the variable (ld.so(8)). Performs I/O in a temporary directory.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// Variables that make the loader list what it loads, and name the files for the lists.
const LOADER_DEBUG: &str = "LD_DEBUG";
const LOADER_OUTPUT: &str = "LD_DEBUG_OUTPUT";
/// Beginning of the names of the lists, which the loader completes with the process ID.
const LIST_NAME: &str = "process";
/// Maximum number of processes whose lists are read.
const MAX_PROCESSES: usize = 256;
/// Maximum number of bytes read from the list of a process.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// Maximum number of loaded files of a command.
const MAX_FILES: usize = 512;
/// Maximum size of a file among the arguments that is regarded as a script.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;
/// Maximum number of traces that are kept.
const MAX_TRACES: usize = 1024;
/// Programs that execute files which the dynamic loader does not load.
const INTERPRETERS: [&str; 12] = [
    "sh", "bash", "dash", "zsh", "ksh", "busybox", "python", "perl", "ruby", "node", "java", "env",
];

/// Files that a command has loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFiles {
    /// Paths of the files, sorted. They include the arguments that are small files, which may be scripts.
    pub files: Vec<String>,
    /// Why files may be missing; `None` if all are known.
    pub incomplete: Option<String>,
}

/// Files of the commands that this process has traced, by arm and scenario.
static TRACES: Mutex<BTreeMap<(String, String), CommandFiles>> = Mutex::new(BTreeMap::new());

/// Trace of one execution of a command.
#[derive(Debug)]
pub struct Trace {
    arm: String,
    scenario: String,
    arguments: Vec<String>,
    /// Directory for the lists; `None` if it could not be created, or the environment already uses the loader's
    /// variables.
    directory: Option<TempDir>,
}

impl Trace {
    /// Prepares to trace the command with `arguments`, which `arm` executes in `scenario`.
    pub fn new(arm: &str, scenario: &str, arguments: &[String]) -> Self {
        let is_free = env::var_os(LOADER_DEBUG).is_none() && env::var_os(LOADER_OUTPUT).is_none();
        Self {
            arm: arm.to_owned(),
            scenario: scenario.to_owned(),
            arguments: arguments.to_vec(),
            directory: is_free.then(|| tempfile::tempdir().ok()).flatten(),
        }
    }

    /// Variables that the command needs, with their values.
    pub fn variables(&self) -> Vec<(String, String)> {
        let output = self.directory.as_ref().and_then(|directory| {
            let path = directory.path().join(LIST_NAME);
            path.to_str().map(str::to_owned)
        });
        output.map_or_else(Vec::new, |output| {
            vec![
                (LOADER_DEBUG.to_owned(), "libs".to_owned()),
                (LOADER_OUTPUT.to_owned(), output),
            ]
        })
    }

    /// Keeps the files that the command loaded, after all its processes have exited.
    pub fn finish(self) {
        let lists = self
            .directory
            .as_ref()
            .map(|directory| read_lists(directory.path()));
        let files = match lists {
            Some(Ok(lists)) => command_files(&lists, &self.arguments, find_program),
            Some(Err(error)) => incomplete(format!("the loader's lists cannot be read: {error}")),
            None => incomplete(format!(
                "{LOADER_DEBUG} is already set, or no directory for its output exists"
            )),
        };
        let mut traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
        if traces.len() < MAX_TRACES {
            let known = traces.entry((self.arm, self.scenario)).or_default();
            merge(known, files);
        }
    }
}

/// Files that the command of `arm` in `scenario` has loaded; `None` if it was not traced in this process.
pub fn files_of(arm: &str, scenario: &str) -> Option<CommandFiles> {
    let traces = TRACES.lock().unwrap_or_else(PoisonError::into_inner);
    traces.get(&(arm.to_owned(), scenario.to_owned())).cloned()
}

/// Adds the files of another execution of the same command.
fn merge(known: &mut CommandFiles, other: CommandFiles) {
    let files: BTreeSet<String> = known.files.drain(..).chain(other.files).collect();
    known.files = files.into_iter().collect();
    known.incomplete = known.incomplete.take().or(other.incomplete);
}

fn incomplete(reason: String) -> CommandFiles {
    CommandFiles {
        files: Vec::new(),
        incomplete: Some(reason),
    }
}

/// Lists of all processes.
///
/// # Errors
/// Returns an error if a list cannot be read completely.
fn read_lists(directory: &Path) -> io::Result<Vec<String>> {
    let mut lists = Vec::new();
    for entry in fs::read_dir(directory)?.take(MAX_PROCESSES) {
        let mut bytes = Vec::new();
        File::open(entry?.path())?
            .take(MAX_LIST_BYTES)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 == MAX_LIST_BYTES {
            return Err(io::Error::other(format!(
                "a process loaded so many files that its list is longer than {MAX_LIST_BYTES} bytes"
            )));
        }
        lists.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    Ok(lists)
}

/// Path of the program with the given name; `None` if it is not found.
fn find_program(name: &str) -> Option<String> {
    let path = if name.contains('/') {
        Path::new(name).canonicalize().ok()?
    } else {
        let directories = env::var_os("PATH").unwrap_or_default();
        let mut candidates = env::split_paths(&directories).map(|directory| directory.join(name));
        candidates.find(|path| path.is_file())?.canonicalize().ok()?
    };
    path.is_file().then(|| path.to_str().map(str::to_owned)).flatten()
}

/// Files in the loader's `lists` of the processes of a command, and the command's own program and scripts. `find`
/// returns the path of a program.
fn command_files(
    lists: &[String],
    arguments: &[String],
    find: impl Fn(&str) -> Option<String>,
) -> CommandFiles {
    let mut files = BTreeSet::new();
    let mut reason = None;
    let mut add_reason = |text: String| {
        reason.get_or_insert(text);
    };
    if lists.is_empty() {
        add_reason(
            "the loader listed no process of the command: it is linked statically, or not with glibc"
                .to_owned(),
        );
    }
    if lists.len() == MAX_PROCESSES {
        add_reason(format!("the command started {MAX_PROCESSES} processes or more"));
    }
    let mut programs = BTreeSet::new();
    for line in lists.iter().flat_map(|list| list.lines()) {
        // "      1234:\tcalling init: /lib/x86_64-linux-gnu/libc.so.6"
        let Some((_, event)) = line.split_once(":\t") else {
            continue;
        };
        if let Some(path) = event.strip_prefix("calling init: ") {
            files.insert(path.to_owned());
        } else if let Some(program) = event.strip_prefix("initialize program: ") {
            programs.insert(program.to_owned());
        }
    }
    programs.extend(arguments.first().cloned());
    for program in programs {
        match find(&program) {
            Some(path) => {
                let name = path.rsplit('/').next().unwrap_or(&path);
                let stem =
                    name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
                if INTERPRETERS.contains(&stem) {
                    add_reason(format!("{name} executes scripts, which the loader does not list"));
                }
                files.insert(path);
            }
            None => add_reason(format!("the program {program} is not found")),
        }
    }
    let is_script = |path: &&String| {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_SCRIPT_BYTES)
    };
    files.extend(arguments.iter().skip(1).filter(is_script).cloned());
    if files.len() > MAX_FILES {
        add_reason(format!("the command loaded more than {MAX_FILES} files"));
    }
    CommandFiles {
        files: files.into_iter().take(MAX_FILES).collect(),
        incomplete: reason,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const LIST: &str = "\
      4711:\tfind library=libfabric.so.1 [0]; searching
      4711:\t trying file=/opt/lib/libfabric.so.1
      4711:\tcalling init: /lib/libc.so.6
      4711:\tcalling init: /opt/lib/libfabric.so.1
      4711:\tinitialize program: fi_pingpong
      4711:\tcalling fini: /opt/lib/libfabric.so.1 [0]
";

    #[test]
    fn lists_libraries_and_programs() {
        let find = |name: &str| Some(format!("/usr/bin/{name}"));
        let arguments = ["fi_pingpong".to_owned(), "-p".to_owned(), "tcp".to_owned()];
        let found = command_files(&[LIST.to_owned()], &arguments, find);
        assert_eq!(
            found.files,
            [
                "/lib/libc.so.6",
                "/opt/lib/libfabric.so.1",
                "/usr/bin/fi_pingpong"
            ]
        );
        assert_eq!(found.incomplete, None);
    }

    #[test]
    fn scripts_and_static_programs_leave_the_list_incomplete() {
        let find = |name: &str| Some(format!("/usr/bin/{name}"));
        let reason = |lists: &[String], program: &str| {
            command_files(lists, &[program.to_owned()], find)
                .incomplete
                .unwrap_or_default()
        };
        assert!(reason(&[LIST.to_owned()], "python3.11").contains("python3.11 executes scripts"));
        assert!(reason(&[], "tool").contains("linked statically"));
        let none = command_files(&[LIST.to_owned()], &["absent".to_owned()], |_| None);
        assert!(none.incomplete.unwrap_or_default().contains("is not found"));
    }

    #[test]
    fn a_list_that_is_too_long_is_not_read_in_part() {
        let directory = tempfile::tempdir().unwrap();
        let line = "      4711:\tcalling init: /lib/libc.so.6\n";
        fs::write(directory.path().join("process.1"), line.repeat(200_000)).unwrap();
        let error = read_lists(directory.path()).unwrap_err().to_string();
        assert!(error.contains("is longer than 4194304 bytes"), "{error}");
    }

    #[test]
    fn traces_a_real_command() {
        let arguments = ["/bin/cat".to_owned(), "/proc/self/status".to_owned()];
        let trace = Trace::new("arm", "scenario", &arguments);
        let output = Command::new(&arguments[0])
            .arg(&arguments[1])
            .envs(trace.variables())
            .output()
            .unwrap();
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        trace.finish();
        let found = files_of("arm", "scenario").unwrap();
        assert_eq!(found.incomplete, None);
        assert!(
            found.files.iter().any(|file| file.contains("libc.so")),
            "{found:?}"
        );
        assert!(found.files.iter().any(|file| file.ends_with("/cat")), "{found:?}");
        assert_eq!(files_of("arm", "other"), None);
    }
}
