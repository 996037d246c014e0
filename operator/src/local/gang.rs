//! The worker processes of one leg: started together, heard through one channel, stopped together. I/O.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crds::record::MAX_LINE_BYTES;
use rustix::process::{Pid, Signal, kill_process_group};

/// How long workers may take to leave after they were asked to.
const LEAVE: Duration = Duration::from_secs(15);
/// How long the standard error of a worker that left is read on.
const LAST_WORD: Duration = Duration::from_secs(1);
/// Events that wait for this program; a worker that writes faster is held back by its pipe.
const EVENTS: usize = 64;
/// Lines of a worker's standard error that are kept for a message.
const STDERR_LINES: usize = 20;

/// What happened in a gang.
#[derive(Debug)]
pub(super) enum Event {
    /// Worker 0 wrote a line, without its newline. One that is cut off or too long is passed on as it is: the
    /// record reader names what is wrong with it.
    Line(String),
    /// Worker 0 closed its standard output.
    StreamEnded,
    /// A worker left.
    Left {
        /// Its rank.
        rank: u32,
        /// How.
        status: io::Result<ExitStatus>,
    },
    /// This program was told to stop (Ctrl-C, SIGTERM).
    Interrupted,
}

/// The worker processes of one leg.
pub(super) struct Gang {
    workers: Vec<Worker>,
    /// Whether worker 0 may still be heard.
    streaming: bool,
    events: Receiver<Event>,
}

struct Worker {
    group: Pid,
    running: bool,
    stderr: Arc<Mutex<VecDeque<String>>>,
}

impl Gang {
    /// Starts `workers` workers with the assignment at `assignment`, which send what happens to `events`.
    pub(super) fn start(
        runner: &Path,
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
            let started = Worker::start(runner, assignment, rank, sender.clone());
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

    /// The next event; `None` when `deadline` passes first.
    pub(super) fn next(&mut self, deadline: Instant) -> Option<Event> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(event) => {
                match &event {
                    Event::Left { rank, .. } => self.workers[*rank as usize].running = false,
                    Event::StreamEnded => self.streaming = false,
                    Event::Line(_) | Event::Interrupted => {}
                }
                Some(event)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Whether any worker still runs, or worker 0 said what was not yet taken.
    pub(super) fn running(&self) -> bool {
        self.streaming || self.workers.iter().any(|worker| worker.running)
    }

    /// Whether one worker is left of several: it has nobody to measure with.
    pub(super) fn lonely(&self) -> bool {
        self.workers.len() > 1 && self.workers.iter().filter(|worker| worker.running).count() == 1
    }

    /// Ends every worker that still runs: first asked, then killed. Returns what they still said, to its end.
    pub(super) fn stop(&mut self) -> Vec<Event> {
        let mut said = Vec::new();
        for (signal, patience) in [(Signal::TERM, LEAVE), (Signal::KILL, LEAVE)] {
            self.signal(signal);
            let deadline = Instant::now() + patience;
            while self.running() {
                match self.next(deadline) {
                    Some(event) => said.push(event),
                    None => break,
                }
            }
        }
        said
    }

    /// The last lines that worker `rank` wrote to its standard error.
    pub(super) fn stderr(&self, rank: u32) -> String {
        let Some(worker) = self.workers.get(rank as usize) else {
            return String::new();
        };
        let lines = worker.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn signal(&self, signal: Signal) {
        for worker in self.workers.iter().filter(|worker| worker.running) {
            // A worker that left a moment ago has no group any more: that is what was wanted.
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
    fn start(runner: &Path, assignment: &Path, rank: u32, events: SyncSender<Event>) -> io::Result<Self> {
        let mut child = Command::new(runner)
            .args(["worker", "--parent", &process::id().to_string(), "--assignment"])
            .arg(assignment)
            .args(["--rank", &rank.to_string()])
            .stdin(Stdio::null())
            .stdout(if rank == 0 { Stdio::piped() } else { Stdio::null() })
            .stderr(Stdio::piped())
            // A group of its own: Ctrl-C at the terminal reaches this program, which then ends workers in order.
            .process_group(0)
            .spawn()?;
        let group = Pid::from_child(&child);
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let (read, last_word) = channel::<()>();
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            thread::spawn(move || {
                keep_last_lines(pipe, &kept);
                drop(read);
            });
        }
        if let Some(pipe) = child.stdout.take() {
            let events = events.clone();
            thread::spawn(move || forward_lines(pipe, &events));
        }
        thread::spawn(move || wait(child, rank, &last_word, &events));
        Ok(Self {
            group,
            running: true,
            stderr,
        })
    }
}

/// A channel for a gang, with the sending end that signals of this program use too.
pub(super) fn events() -> (SyncSender<Event>, Receiver<Event>) {
    sync_channel(EVENTS)
}

/// Tells that the worker left, once its standard error is read: why it left stands there.
fn wait(mut child: Child, rank: u32, last_word: &Receiver<()>, events: &SyncSender<Event>) {
    let status = child.wait();
    // Ends when the sender is dropped; a process of the worker's that outlives it may hold the pipe open.
    let _ = last_word.recv_timeout(LAST_WORD);
    // Nobody listens any more when the gang is dropped; then nobody needs to know.
    let _ = events.send(Event::Left { rank, status });
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

fn keep_last_lines(pipe: impl Read, kept: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(pipe);
    while let Some(line) = bounded_line(&mut reader, 1024) {
        let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// The next line without its newline, cut after `limit` bytes; `None` at the end or when the pipe breaks.
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

    #[test]
    fn a_line_is_cut_at_its_limit_and_the_rest_follows() {
        let mut reader = BufReader::new(&b"abcdef\ngh"[..]);
        let mut lines = Vec::new();
        while let Some(line) = bounded_line(&mut reader, 3) {
            lines.push(line);
        }
        assert_eq!(lines, ["abcd", "ef", "gh"]);
    }

    #[test]
    fn a_program_that_is_no_runner_leaves_with_its_words() {
        let (sender, receiver) = events();
        let mut gang = Gang::start(Path::new("/bin/ls"), Path::new("/nowhere"), 1, sender, receiver).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while gang.running() {
            assert!(gang.next(deadline).is_some(), "the program never left");
        }
        assert!(gang.stderr(0).contains("ls:"), "{}", gang.stderr(0));
    }

    #[test]
    fn words_that_come_after_the_worker_left_are_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let runner = scratch.path().join("runner");
        // A process of the worker's says the last line once the worker is gone.
        let last = "while kill -0 $worker; do sleep 0.05; done; sleep 0.2; echo last";
        let script = format!(
            "#!/bin/sh\nworker=$$\ntrap '({last}) 2>/dev/null & exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n"
        );
        std::fs::write(&runner, script).unwrap();
        std::fs::set_permissions(&runner, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (sender, receiver) = events();
        let mut gang = Gang::start(&runner, Path::new("/nowhere"), 1, sender, receiver).unwrap();
        let ready = gang.next(Instant::now() + Duration::from_secs(20));
        assert!(matches!(ready, Some(Event::Line(line)) if line == "ready"));
        let said = gang.stop();
        assert!(
            matches!(&said[..], [Event::Left { .. }, Event::Line(line), Event::StreamEnded] if line == "last"),
            "{said:?}"
        );
        assert!(!gang.running());
    }
}
