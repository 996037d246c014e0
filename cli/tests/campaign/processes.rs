//! Finds the processes of one campaign by an environment variable, and their files in `/dev/shm`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// Environment variable that every process of a campaign inherits.
pub const MARK: &str = "FABRICBENCH_TEST_MARK";

/// A process of a campaign.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub arguments: Vec<String>,
}

impl Process {
    /// Process ID.
    pub fn id(&self) -> Pid {
        Pid::from_raw(self.pid as i32).unwrap()
    }

    /// Whether the process is the worker with this rank.
    pub fn is_worker(&self, rank: u32) -> bool {
        let rank = rank.to_string();
        let names_rank = self
            .arguments
            .windows(2)
            .any(|pair| pair[0] == "--rank" && pair[1] == rank);
        self.argument(1) == "worker" && names_rank
    }

    /// Whether the process is an instrument.
    pub fn is_instrument(&self) -> bool {
        self.argument(1) == "instrument"
    }

    /// Whether the process is an extension, which answers an instrument's calls.
    pub fn is_extension(&self) -> bool {
        self.argument(1) == "extension"
    }

    fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }
}

/// All processes with `mark` in their environment, except zombies.
pub fn find_marked(mark: &str) -> Vec<Process> {
    let marked = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let path = entry.path();
            let variables = fs::read(path.join("environ")).ok()?;
            let is_marked = variables
                .split(|byte| *byte == 0)
                .any(|variable| variable == marked.as_bytes());
            is_marked.then(|| process(pid, &path)).flatten()
        })
        .collect()
}

fn process(pid: u32, path: &Path) -> Option<Process> {
    let stat = fs::read_to_string(path.join("stat")).ok()?;
    // The name in parentheses may contain any character. State and parent follow the last parenthesis.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let (state, parent) = (fields.next()?, fields.next()?);
    let arguments = fs::read_to_string(path.join("cmdline")).ok()?;
    (state != "Z").then(|| Process {
        pid,
        parent: parent.parse().unwrap(),
        arguments: arguments.split('\0').map(str::to_owned).collect(),
    })
}

/// Names of all files in `/dev/shm`.
pub fn shared_memory() -> BTreeSet<String> {
    let names = fs::read_dir("/dev/shm").unwrap().flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Files in `/dev/shm` whose name contains one of `pids`, except those in `earlier`: a process that is killed can leave
/// files, and its ID can be used again. libfabric's shm provider names each file after the ID of the process that
/// created it.
pub fn shared_memory_of(pids: &BTreeSet<u32>, earlier: &BTreeSet<String>) -> Vec<String> {
    shared_memory()
        .into_iter()
        .filter(|name| {
            let mut numbers = name.split(|character: char| !character.is_ascii_digit());
            numbers.any(|number| number.parse().is_ok_and(|number| pids.contains(&number)))
        })
        .filter(|name| !earlier.contains(name))
        .collect()
}
