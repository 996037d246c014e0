//! `fabricbench` as a user starts it, watched while it runs.

use std::collections::BTreeSet;
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

use super::processes::{MARK, Process, of_campaign, shared_memory_of};

/// How long a campaign may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long processes may take to leave once the campaign is over.
const LEAVE: Duration = Duration::from_secs(30);
/// How often the system is asked for what it tells nobody.
const ASK: Duration = Duration::from_millis(10);

static MACHINE: Mutex<()> = Mutex::new(());

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The command line that starts `fabricbench` with `arguments`.
pub fn fabricbench<const N: usize>(arguments: [&str; N]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_fabricbench"));
    let runner = program.with_file_name("fabricbench-runner");
    assert!(
        runner.is_file(),
        "{} is missing: cargo build -p fabricbench-runner",
        runner.display()
    );
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// A program that runs, with the machine for itself.
pub struct Running {
    child: Child,
    mark: String,
    folder: TempDir,
    /// Every process of the campaign that was ever seen.
    seen: BTreeSet<u32>,
    _machine: MutexGuard<'static, ()>,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    /// Starts `command` in a process group of its own, as a shell does.
    pub fn start(mut command: Command) -> Self {
        // A test that failed while it had the machine left it free all the same.
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let mark = folder.path().display().to_string();
        let file = |name: &str| File::create(folder.path().join(name)).unwrap();
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
            folder,
            seen: BTreeSet::new(),
            _machine: machine,
        }
    }

    /// Processes of the campaign that run now, the program itself among them.
    pub fn processes(&mut self) -> Vec<Process> {
        let found = of_campaign(&self.mark);
        self.seen.extend(found.iter().map(|process| process.pid));
        found
    }

    /// Waits until `found` finds something, while the program runs.
    pub fn wait_for<T>(&mut self, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", self.said());
            assert!(
                Instant::now() < deadline,
                "waited {PATIENCE:?} in vain: {}",
                self.said()
            );
            sleep(ASK);
        }
    }

    /// Waits for the worker of `rank`.
    pub fn worker(&mut self, rank: u32) -> Process {
        self.wait_for(|running| running.processes().into_iter().find(|one| one.is_worker(rank)))
    }

    /// Waits for an instrument of the worker of `rank`.
    pub fn instrument(&mut self, rank: u32) -> Process {
        let worker = self.worker(rank).pid;
        self.wait_for(|running| {
            let mut all = running.processes().into_iter();
            all.find(|one| one.is_instrument() && one.parent == worker)
        })
    }

    /// Signals the program alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Signals its process group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end. Fails where a process of it is left then, or shared memory.
    pub fn end(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            self.processes();
            assert!(
                Instant::now() < deadline,
                "runs after {PATIENCE:?}: {}",
                self.said()
            );
            sleep(ASK);
        };
        self.nothing_is_left();
        Ended {
            status,
            stdout: self.read("stdout"),
            stderr: self.read("stderr"),
        }
    }

    fn nothing_is_left(&mut self) {
        let deadline = Instant::now() + LEAVE;
        loop {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "processes are left: {left:?}");
            sleep(ASK);
        }
        let files = shared_memory_of(&self.seen);
        assert!(files.is_empty(), "files are left in /dev/shm: {files:?}");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn said(&self) -> String {
        format!("{}\n{}", self.read("stdout"), self.read("stderr"))
    }
}

impl Drop for Running {
    /// A test that fails leaves nothing behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for process in of_campaign(&self.mark) {
            let _ = kill_process(process.id(), Signal::KILL);
        }
    }
}

impl Ended {
    /// Fails with all that was said where the exit status is not `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Fails where it was not ended by `signal`.
    #[track_caller]
    pub fn killed_by(self, signal: Signal) -> Self {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "{self}");
        self
    }

    /// Fails where the tables do not say `words`, however they are wrapped.
    #[track_caller]
    pub fn shows(&self, words: &str) {
        let flat = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "not shown: {words}\n{self}");
    }

    /// Fails where standard error does not say `words`.
    #[track_caller]
    pub fn says(&self, words: &str) {
        assert!(self.stderr.contains(words), "not said: {words}\n{self}");
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}\n{}", self.status, self.stdout, self.stderr)
    }
}

/// A test's own folder: the manifest, and the output beside it.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    /// Writes a manifest, and returns its path.
    pub fn manifest(&self, text: &str) -> String {
        let path = self.folder.path().join("run.yaml");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The folder that is given as `--output`.
    pub fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// The folder of the run `name`.
    pub fn run_folder(&self, name: &str) -> PathBuf {
        self.output().join(name)
    }

    /// The command that runs `manifest` into [`Self::output`].
    pub fn run(&self, manifest: &str) -> Command {
        self.to(manifest, "--output")
    }

    /// A runner that is started by a shell, with `before` in front of the real one's command.
    pub fn runner(&self, before: &str) -> String {
        let real = Path::new(env!("CARGO_BIN_EXE_fabricbench")).with_file_name("fabricbench-runner");
        let file = self.folder.path().join("runner");
        let script = format!("#!/bin/sh\n{before} '{}' \"$@\"\n", real.display());
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        file.display().to_string()
    }

    /// The command that runs `manifest` by another `runner`.
    pub fn run_by(&self, runner: &str, manifest: &str) -> Command {
        let mut command = self.run(manifest);
        command.args(["--runner", runner]);
        command
    }

    /// The command that goes on with what is in [`Self::output`].
    pub fn resume(&self, manifest: &str) -> Command {
        self.to(manifest, "--resume")
    }

    fn to(&self, manifest: &str, option: &str) -> Command {
        fabricbench(["run", manifest, option, &self.output().display().to_string()])
    }
}
