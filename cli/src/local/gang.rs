//! Starts and stops the worker processes of one leg together, and receives their events on one channel. Performs I/O.

use std::collections::VecDeque;
use std::env;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crds::names::{ENV_LOG, ENV_LOGS_DIRECTORY};
use crds::record::MAX_LINE_BYTES;
use operator::terminal::print_error;
use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum time for the workers to exit after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time to read a worker's standard error after it has exited.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);
/// Capacity of the event channel. When it is full, worker 0 blocks as soon as its pipe is also full.
const EVENT_CAPACITY: usize = 64;
/// Number of standard error lines that are kept per worker for an error message.
const STDERR_LINES: usize = 20;

/// Event from a gang or from this process.
#[derive(Debug)]
pub(super) enum Event {
    /// Worker 0 wrote a line. The newline is removed. Truncated lines and the parts of overlong lines are passed on,
    /// because the record reader reports what is wrong with them.
    Line(String),
    /// Worker 0 closed its standard output.
    StreamEnded,
    /// A worker exited.
    Exited {
        /// Rank of the worker.
        rank: u32,
        /// Exit status, or the error returned while waiting for the worker.
        status: io::Result<ExitStatus>,
    },
    /// This process received SIGINT (Ctrl-C) or SIGTERM.
    Interrupted,
}

/// Program that workers run.
#[derive(Clone, Copy)]
pub(super) struct WorkerProgram<'a> {
    /// Path to the runner binary.
    pub(super) runner: &'a Path,
    /// Directory in which the workers keep the output of their instruments; `None` if they do not keep it.
    pub(super) logs: Option<&'a Path>,
}

/// One leg's worker processes.
pub(super) struct Gang {
    workers: Vec<Worker>,
    /// Whether the standard output of worker 0 is open.
    streaming: bool,
    events: Receiver<Event>,
}

struct Worker {
    group: Pid,
    running: bool,
    stderr: Arc<Mutex<VecDeque<String>>>,
}

impl Gang {
    /// Starts `workers` workers with the assignment file `assignment`. Their events go to `sender`.
    pub(super) fn start(
        program: WorkerProgram<'_>,
        assignment: &Path,
        workers: u32,
        sender: SyncSender<Event>,
        events: Receiver<Event>,
    ) -> io::Result<Self> {
        let mut gang = Self {
            workers: Vec::new(),
            streaming: false,
            events,
        };
        for rank in 0..workers {
            let started = Worker::start(program, assignment, rank, sender.clone());
            match started {
                Ok(worker) => {
                    gang.workers.push(worker);
                    gang.streaming = true;
                }
                Err(error) => {
                    gang.stop();
                    return Err(error);
                }
            }
        }
        Ok(gang)
    }

    /// Returns the next event, or `None` if `deadline` passes first.
    pub(super) fn next(&mut self, deadline: Instant) -> Option<Event> {
        let remaining = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(remaining) {
            Ok(event) => {
                match &event {
                    Event::Exited { rank, .. } => self.workers[*rank as usize].running = false,
                    Event::StreamEnded => self.streaming = false,
                    Event::Line(_) | Event::Interrupted => {}
                }
                Some(event)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Whether any worker is running or the output of worker 0 has not been fully received.
    pub(super) fn is_running(&self) -> bool {
        self.streaming || self.workers.iter().any(|worker| worker.running)
    }

    /// Whether exactly one of several workers is still running. A single worker cannot measure anything.
    pub(super) fn has_single_worker_left(&self) -> bool {
        self.workers.len() > 1 && self.workers.iter().filter(|worker| worker.running).count() == 1
    }

    /// Stops every running worker, first with SIGTERM, then with SIGKILL. Returns all remaining events.
    pub(super) fn stop(&mut self) -> Vec<Event> {
        let mut remaining = Vec::new();
        for (signal, timeout) in [(Signal::TERM, EXIT_TIMEOUT), (Signal::KILL, EXIT_TIMEOUT)] {
            self.signal(signal);
            let deadline = Instant::now() + timeout;
            while self.is_running() {
                match self.next(deadline) {
                    Some(event) => remaining.push(event),
                    None => break,
                }
            }
        }
        remaining
    }

    /// Returns the last lines that worker `rank` wrote to its standard error.
    pub(super) fn last_stderr_lines(&self, rank: u32) -> String {
        let Some(worker) = self.workers.get(rank as usize) else {
            return String::new();
        };
        let lines = worker.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn signal(&self, signal: Signal) {
        for worker in self.workers.iter().filter(|worker| worker.running) {
            // Signaling a worker that has just exited fails because its process group no longer exists.
            let _ = kill_process_group(worker.group, signal);
        }
    }
}

impl Drop for Gang {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Worker {
    fn start(
        program: WorkerProgram<'_>,
        assignment: &Path,
        rank: u32,
        events: SyncSender<Event>,
    ) -> io::Result<Self> {
        let mut child = Command::new(program.runner)
            .envs(program.logs.map(|logs| (ENV_LOGS_DIRECTORY, logs)))
            .args(["worker", "--parent", &process::id().to_string(), "--assignment"])
            .arg(assignment)
            .args(["--rank", &rank.to_string()])
            .stdin(Stdio::null())
            .stdout(if rank == 0 { Stdio::piped() } else { Stdio::null() })
            .stderr(Stdio::piped())
            // The worker gets a separate process group, so that Ctrl-C in the terminal reaches only this process, which
            // then stops the workers.
            .process_group(0)
            .spawn()?;
        let group = Pid::from_child(&child);
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let (stderr_open, stderr_closed) = channel::<()>();
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            thread::spawn(move || {
                keep_last_lines(pipe, rank, &kept);
                drop(stderr_open);
            });
        }
        if let Some(pipe) = child.stdout.take() {
            let events = events.clone();
            thread::spawn(move || forward_lines(pipe, &events));
        }
        thread::spawn(move || wait(child, rank, &stderr_closed, &events));
        Ok(Self {
            group,
            running: true,
            stderr,
        })
    }
}

/// Creates a gang's event channel. Signals to this process use the same sender.
pub(super) fn event_channel() -> (SyncSender<Event>, Receiver<Event>) {
    sync_channel(EVENT_CAPACITY)
}

/// Waits for the worker to exit and sends [`Event::Exited`].
///
/// Before sending the event, waits until the worker's standard error has been read, because it contains the reason for
/// the exit.
fn wait(mut child: Child, rank: u32, stderr_closed: &Receiver<()>, events: &SyncSender<Event>) {
    let status = child.wait();
    // Returns when the sender is dropped. The timeout is needed because a child process that outlives the worker may
    // keep the pipe open.
    let _ = stderr_closed.recv_timeout(STDERR_TIMEOUT);
    // The send fails only if the gang was dropped. The event is not needed then.
    let _ = events.send(Event::Exited { rank, status });
}

fn forward_lines(pipe: impl Read, events: &SyncSender<Event>) {
    let mut reader = BufReader::new(pipe);
    while let Some(line) = bounded_line(&mut reader, MAX_LINE_BYTES) {
        if events.send(Event::Line(line)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::StreamEnded);
}

/// Keeps the last lines of `pipe`. If the level of the workers' log is set, also writes each line with the rank of its
/// worker to standard error.
fn keep_last_lines(pipe: impl Read, rank: u32, kept: &Mutex<VecDeque<String>>) {
    let is_logged = env::var_os(ENV_LOG).is_some();
    let mut reader = BufReader::new(pipe);
    while let Some(line) = bounded_line(&mut reader, 1024) {
        if is_logged {
            // The line is lost if standard error is closed.
            print_error(&format!("rank {rank}: {line}"));
        }
        let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Returns the next line without its newline, or `None` at the end of the input or on a read error.
///
/// A line of more than `limit` bytes is split after `limit + 1` bytes.
fn bounded_line(reader: &mut impl BufRead, limit: usize) -> Option<String> {
    let mut line = Vec::new();
    let read = reader
        .by_ref()
        .take(limit as u64 + 1)
        .read_until(b'\n', &mut line)
        .ok()?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(runner: &Path) -> WorkerProgram<'_> {
        WorkerProgram { runner, logs: None }
    }

    #[test]
    fn splits_long_lines() {
        let mut reader = BufReader::new(&b"abcdef\ngh"[..]);
        let mut lines = Vec::new();
        while let Some(line) = bounded_line(&mut reader, 3) {
            lines.push(line);
        }
        assert_eq!(lines, ["abcd", "ef", "gh"]);
    }

    #[test]
    fn keeps_the_standard_error_of_a_failed_worker() {
        let (sender, receiver) = event_channel();
        let mut gang = Gang::start(
            program(Path::new("/bin/ls")),
            Path::new("/nowhere"),
            1,
            sender,
            receiver,
        )
        .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while gang.is_running() {
            assert!(gang.next(deadline).is_some(), "the process did not exit");
        }
        assert!(
            gang.last_stderr_lines(0).contains("ls:"),
            "{}",
            gang.last_stderr_lines(0)
        );
    }

    #[test]
    fn keeps_output_that_arrives_after_the_worker_exited() {
        let directory = tempfile::tempdir().unwrap();
        let runner = directory.path().join("runner");
        // A child of the worker prints the last line after the worker has exited.
        let last = "while kill -0 $worker; do sleep 0.05; done; sleep 0.2; echo last";
        let script = format!(
            "#!/bin/sh\nworker=$$\ntrap '({last}) 2>/dev/null & exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
        );
        std::fs::write(&runner, script).unwrap();
        std::fs::set_permissions(&runner, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (sender, receiver) = event_channel();
        let mut gang = Gang::start(program(&runner), Path::new("/nowhere"), 1, sender, receiver).unwrap();
        let ready = gang.next(Instant::now() + Duration::from_secs(20));
        assert!(matches!(ready, Some(Event::Line(line)) if line == "ready"));
        let remaining = gang.stop();
        assert!(
            matches!(&remaining[..], [Event::Exited { .. }, Event::Line(line), Event::StreamEnded] if line == "last"),
            "{remaining:?}"
        );
        assert!(!gang.is_running());
    }
}
