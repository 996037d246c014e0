//! Follows and stops the workers of one leg together, and receives their events on one channel. Performs I/O.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crds::lifeline::{HEARTBEAT, MAX_SILENCE};
use crds::record::MAX_LINE_BYTES;
use rustix::process::{Pid, Signal, kill_process_group};

use super::event::Event;
use super::executor::{Input, StartedWorker};
use super::lines::bounded_line;
use super::stderr_tail::StderrTail;

/// Maximum time for the workers to exit after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time to read a worker's standard error after it has exited.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);
/// Capacity of the event channel. When it is full, worker 0 blocks as soon as its pipe is also full.
const EVENT_CAPACITY: usize = 64;

/// One leg's workers.
pub(super) struct Gang {
    workers: BTreeMap<u32, Worker>,
    /// Whether the standard output of worker 0 is open.
    streaming: bool,
    events: Receiver<Event>,
}

struct Worker {
    group: Pid,
    running: bool,
    stderr: StderrTail,
    /// Keeps the standard input of a worker on another machine open; `None` for a worker on this machine, or after the worker
    /// was asked to stop.
    lifeline: Option<Sender<()>>,
    /// Whether the worker writes to its standard error regularly, and has not been reported as silent.
    is_heard: bool,
}

impl Gang {
    /// Follows the workers in `started`, which contains one for each rank. Their events go to `sender`.
    ///
    /// # Errors
    /// If a worker was not started, stops the others and returns the errors.
    pub(super) fn follow(
        started: Vec<Result<StartedWorker, String>>,
        sender: &SyncSender<Event>,
        events: Receiver<Event>,
    ) -> Result<Self, String> {
        let mut gang = Self {
            workers: BTreeMap::new(),
            streaming: false,
            events,
        };
        let mut errors = Vec::new();
        for (rank, worker) in (0..).zip(started) {
            match worker {
                Ok(worker) => {
                    gang.streaming |= worker.stdout.is_some();
                    gang.workers
                        .insert(rank, Worker::follow(worker, rank, sender.clone()));
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            return Ok(gang);
        }
        gang.stop();
        Err(errors.join("\n"))
    }

    /// Returns the next event, or `None` if `deadline` passes first.
    pub(super) fn next(&mut self, deadline: Instant) -> Option<Event> {
        loop {
            let silent = self.next_silence();
            let until = silent.map_or(deadline, |(time, _)| time.min(deadline));
            match self
                .events
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(event) => {
                    self.note(&event);
                    return Some(event);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            // The worker may have been heard while this thread waited.
            match self.next_silence() {
                Some((time, rank)) if time <= Instant::now() => {
                    self.workers
                        .entry(rank)
                        .and_modify(|worker| worker.is_heard = false);
                    return Some(Event::Silent { rank });
                }
                _ if deadline <= Instant::now() => return None,
                _ => {}
            }
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Exited { rank, .. } => {
                self.workers
                    .entry(*rank)
                    .and_modify(|worker| worker.running = false);
            }
            Event::StreamEnded => self.streaming = false,
            Event::Line(_) | Event::Silent { .. } | Event::Interrupted => {}
        }
    }

    /// When the first of the workers will have been silent for too long, if nothing is heard from it, and its rank.
    fn next_silence(&self) -> Option<(Instant, u32)> {
        let heard = self
            .workers
            .iter()
            .filter(|(_, worker)| worker.running && worker.is_heard);
        heard
            .map(|(rank, worker)| (worker.stderr.heard() + MAX_SILENCE, *rank))
            .min()
    }

    /// Whether any worker is running or the output of worker 0 has not been fully received.
    pub(super) fn is_running(&self) -> bool {
        self.streaming || self.running().next().is_some()
    }

    /// Whether exactly one of several workers is still running. A single worker cannot measure anything.
    pub(super) fn has_single_worker_left(&self) -> bool {
        self.workers.len() > 1 && self.running().count() == 1
    }

    /// Stops every running worker. First closes the standard input of workers on other machines, and sends SIGTERM to those on
    /// this one; then sends SIGKILL. Returns all remaining events.
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
        let worker = self.workers.get(&rank);
        worker.map(|worker| worker.stderr.lines()).unwrap_or_default()
    }

    fn running(&self) -> impl Iterator<Item = &Worker> {
        self.workers.values().filter(|worker| worker.running)
    }

    fn signal(&mut self, signal: Signal) {
        for worker in self.workers.values_mut().filter(|worker| worker.running) {
            // The worker on another machine stops at the end of its input, and then its launcher exits. A signal to the
            // launcher would only end the connection.
            if signal == Signal::TERM && worker.lifeline.take().is_some() {
                continue;
            }
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
    fn follow(started: StartedWorker, rank: u32, events: SyncSender<Event>) -> Self {
        let StartedWorker {
            child,
            stdout,
            stderr,
            input,
        } = started;
        let group = Pid::from_child(&child);
        if let Some(pipe) = stdout {
            let events = events.clone();
            thread::spawn(move || forward_lines(pipe, &events));
        }
        let tail = stderr.clone();
        thread::spawn(move || wait(child, rank, &tail, &events));
        Self {
            group,
            running: true,
            stderr,
            is_heard: input.is_some(),
            lifeline: input.map(keep_open),
        }
    }
}

/// Writes `input`, and then an empty line every [`HEARTBEAT`] until the returned sender is dropped. If the worker has exited,
/// its exit status and its standard error say why.
fn keep_open(input: Input) -> Sender<()> {
    let Input { mut stdin, first } = input;
    let (sender, receiver) = channel();
    thread::spawn(move || {
        if stdin.write_all(&first).is_err() {
            return;
        }
        drop(first);
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(HEARTBEAT) {
            if stdin.write_all(b"\n").is_err() {
                return;
            }
        }
    });
    sender
}

/// Creates a gang's event channel. Signals to this process use the same sender.
pub(super) fn event_channel() -> (SyncSender<Event>, Receiver<Event>) {
    sync_channel(EVENT_CAPACITY)
}

/// Waits for the worker to exit and sends [`Event::Exited`].
///
/// Before sending the event, waits until the worker's standard error has been read, because it contains the reason for
/// the exit.
fn wait(mut child: Child, rank: u32, stderr: &StderrTail, events: &SyncSender<Event>) {
    let status = child.wait();
    stderr.wait_for_end(STDERR_TIMEOUT);
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// Follows one worker, which runs `program`.
    fn start(program: &str) -> Gang {
        let mut child = Command::new(program)
            .arg("/nowhere")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let worker = StartedWorker {
            stdout: Some(Box::new(child.stdout.take().unwrap())),
            stderr: StderrTail::follow(child.stderr.take().unwrap(), "rank 0".to_owned()),
            input: None,
            child,
        };
        let (sender, receiver) = event_channel();
        Gang::follow(vec![Ok(worker)], &sender, receiver).unwrap()
    }

    #[test]
    fn keeps_the_standard_error_of_a_failed_worker() {
        let mut gang = start("/bin/ls");
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
        let mut gang = start(runner.to_str().unwrap());
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
