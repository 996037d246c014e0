//! Starts `fabricbench` commands and observes their processes and output.

use std::collections::BTreeSet;
use std::env::current_exe;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use super::network_namespace::without_other_traffic;
use super::processes::{MARK, Process, find_marked, shared_memory, shared_memory_of};
use super::run_check::{check_runs, output_dir};

/// Campaign timeout.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum time for processes to exit after the campaign has finished.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Interval between two scans of all processes while a command runs. A scan takes about 1 ms of CPU time.
const SCAN_INTERVAL: Duration = Duration::from_millis(50);

/// Locked while a command is running, unless the command has released it.
static MACHINE: Mutex<()> = Mutex::new(());

/// Workspace root directory.
pub fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Returns the path of the runner that plants effects and errors in arms.
pub fn planted_runner() -> String {
    // Cargo also builds the workspace examples when it builds the tests.
    let path = current_exe()
        .unwrap()
        .with_file_name("")
        .join("../examples/planted");
    assert!(
        path.exists(),
        "{}: run cargo build --workspace --examples",
        path.display()
    );
    path.to_str().unwrap().to_owned()
}

/// Returns the `fabricbench` command with `arguments`.
pub fn fabricbench<const N: usize>(arguments: [&str; N]) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_fabricbench"));
    let runner = binary.with_file_name("fabricbench-runner");
    assert!(
        runner.is_file(),
        "{} does not exist; run cargo build -p fabricbench-runner",
        runner.display()
    );
    let mut command = Command::new(binary);
    command.args(arguments);
    command
}

/// A running command. Normally, only one exists at a time, because concurrent campaigns would affect each other.
pub struct RunningCommand {
    child: Child,
    mark: String,
    directory: TempDir,
    /// Directory in which the command writes runs. The runs are checked when the command exits.
    runs: Option<PathBuf>,
    /// IDs of all campaign processes observed so far.
    seen: BTreeSet<u32>,
    /// Files that were in `/dev/shm` before the command started.
    earlier_files: BTreeSet<String>,
    machine: Option<MutexGuard<'static, ()>>,
}

/// Exit status and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl RunningCommand {
    /// Starts `command` in a separate process group, as a shell does.
    pub fn start(command: Command) -> Self {
        match output_dir(&command) {
            Some(_) => Self::start_among_others(without_other_traffic(command)),
            None => Self::start_among_others(command),
        }
    }

    /// Starts `command` like [`start`](Self::start), but in the network namespace of the test, where other programs may
    /// send traffic.
    pub fn start_among_others(mut command: Command) -> Self {
        // A failed test poisons the mutex, but the tests after it can still lock it.
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = TempDir::new().unwrap();
        let mark = directory.path().display().to_string();
        let file = |name: &str| File::create(directory.path().join(name)).unwrap();
        let runs = output_dir(&command);
        let earlier_files = shared_memory();
        let child = command
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .process_group(0)
            .spawn()
            .unwrap();
        Self {
            child,
            mark,
            directory,
            runs,
            seen: BTreeSet::new(),
            earlier_files,
            machine: Some(machine),
        }
    }

    /// Skips the check of the runs that the command writes. Call this if a test changes records, so that the records no
    /// longer match the status.
    pub fn with_changed_records(mut self) -> Self {
        self.runs = None;
        self
    }

    /// Allows other commands to run from now on. Call this only if the command mostly waits, and its measurements may
    /// be disturbed.
    pub fn release_machine(&mut self) {
        self.machine = None;
    }

    /// Returns the running processes of the campaign, including the command itself.
    pub fn processes(&mut self) -> Vec<Process> {
        let found = find_marked(&self.mark);
        self.seen.extend(found.iter().map(|process| process.pid));
        found
    }

    /// Waits until `check` returns a value. Fails if the command exits first.
    pub fn wait_for<T>(&mut self, check: impl FnMut(&mut Self) -> Option<T>) -> T {
        let found = self.wait_for_or_exit(check);
        found.unwrap_or_else(|| panic!("the command exited: {}", self.all_output()))
    }

    /// Waits until `check` returns a value. Returns `None` if the command exits first.
    pub fn wait_for_or_exit<T>(&mut self, mut check: impl FnMut(&mut Self) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(value) = check(self) {
                return Some(value);
            }
            if self.child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(
                Instant::now() < deadline,
                "no result within {TIMEOUT:?}: {}",
                self.all_output()
            );
            sleep(POLL_INTERVAL);
        }
    }

    /// Waits for the worker process with this rank.
    pub fn worker(&mut self, rank: u32) -> Process {
        self.wait_for(|running| running.processes().into_iter().find(|one| one.is_worker(rank)))
    }

    /// Waits until the worker with this rank has an instrument process.
    pub fn instrument(&mut self, rank: u32) -> Process {
        let worker = self.worker(rank).pid;
        self.wait_for(|running| {
            let mut processes = running.processes().into_iter();
            processes.find(|one| one.is_instrument() && one.parent == worker)
        })
    }

    /// Sends a signal to the command only.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends a signal to the process group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the command to exit. Fails if any of the campaign's processes or shared memory remains, or if a value
    /// in a run's status does not follow from its records.
    #[track_caller]
    pub fn wait(mut self) -> CommandOutput {
        let deadline = Instant::now() + TIMEOUT;
        self.processes();
        let mut last_scan = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if last_scan.elapsed() >= SCAN_INTERVAL {
                self.processes();
                last_scan = Instant::now();
            }
            assert!(
                Instant::now() < deadline,
                "still running after {TIMEOUT:?}: {}",
                self.all_output()
            );
            sleep(POLL_INTERVAL);
        };
        self.assert_nothing_remains();
        self.release_machine();
        self.runs.iter().for_each(|output| check_runs(output));
        CommandOutput {
            status,
            stdout: self.read("stdout"),
            stderr: self.read("stderr"),
        }
    }

    fn assert_nothing_remains(&mut self) {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        loop {
            let remaining = self.processes();
            if remaining.is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "remaining processes: {remaining:?}");
            sleep(POLL_INTERVAL);
        }
        let files = shared_memory_of(&self.seen, &self.earlier_files);
        assert!(files.is_empty(), "remaining files in /dev/shm: {files:?}");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }

    fn all_output(&self) -> String {
        format!("{}\n{}", self.read("stdout"), self.read("stderr"))
    }
}

impl Drop for RunningCommand {
    /// Kills all campaign processes, so that a failed test does not leave any behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in find_marked(&self.mark) {
            let _ = kill_process(process.id(), Signal::KILL);
        }
    }
}

impl CommandOutput {
    /// Fails with the whole output unless the exit status is `code`.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Fails unless the command was killed by `signal`.
    #[track_caller]
    pub fn expect_signal(self, signal: Signal) -> Self {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "{self}");
        self
    }

    /// Fails unless standard output contains `text`, regardless of line breaks.
    #[track_caller]
    pub fn expect_stdout(&self, text: &str) {
        let flat = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(text), "not in standard output: {text}\n{self}");
    }

    /// Fails unless standard error contains `text`.
    #[track_caller]
    pub fn expect_stderr(&self, text: &str) {
        assert!(
            self.stderr.contains(text),
            "not in standard error: {text}\n{self}"
        );
    }
}

impl std::fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Temporary directory of a test with its manifest and output.
pub struct TestDir {
    directory: TempDir,
}

impl TestDir {
    pub fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    /// Writes a manifest and returns its path.
    pub fn manifest(&self, text: &str) -> String {
        let path = self.directory.path().join("run.yaml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Directory for `--output`.
    pub fn output_dir(&self) -> PathBuf {
        self.directory.path().join("output")
    }

    /// Directory of the run `name`.
    pub fn run_dir(&self, name: &str) -> PathBuf {
        self.output_dir().join(name)
    }

    /// Returns the command that runs `manifest` and writes its output to [`Self::output_dir`].
    pub fn run(&self, manifest: &str) -> Command {
        self.command(manifest, "--output")
    }

    /// Returns the JUnit and OpenMetrics reports of the run `name`.
    pub fn machine_reports(&self, name: &str) -> (String, String) {
        let directory = self.run_dir(name).display().to_string();
        let report = |format: &str| {
            let output = fabricbench(["report", &directory, "--format", format])
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        (report("junit"), report("openmetrics"))
    }

    /// Writes a shell script that consists of the shell code `before`, followed by the real runner's command line.
    /// Returns the path of the script.
    pub fn runner(&self, before: &str) -> String {
        let real = Path::new(env!("CARGO_BIN_EXE_fabricbench")).with_file_name("fabricbench-runner");
        let file = self.directory.path().join("runner");
        let script = format!("#!/bin/sh\n{before} '{}' \"$@\"\n", real.display());
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        file.display().to_string()
    }

    /// Returns the command that runs `manifest` with the runner at the path `runner`.
    pub fn run_with(&self, runner: &str, manifest: &str) -> Command {
        let mut command = self.run(manifest);
        command.args(["--runner", runner]);
        command
    }

    /// Returns the command that resumes the run in [`Self::output_dir`].
    pub fn resume(&self, manifest: &str) -> Command {
        self.command(manifest, "--resume")
    }

    fn command(&self, manifest: &str, option: &str) -> Command {
        fabricbench(["run", manifest, option, &self.output_dir().display().to_string()])
    }
}
