//! The last lines of a worker's standard error, and the time of the latest one. Performs I/O.

use std::collections::VecDeque;
use std::env;
use std::io::{BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crds::names::ENV_LOG;
use operator::terminal::print_error;

use super::lines::bounded_line;

/// Number of lines that are kept for an error message.
const LINES: usize = 20;
/// Start of a line that the user should read while the worker is running.
const NOTE: &str = "note: ";
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1024;

/// The last lines of a standard error, which a thread reads.
#[derive(Clone, Debug)]
pub(crate) struct StderrTail(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug)]
struct State {
    lines: VecDeque<String>,
    heard: Instant,
    open: bool,
}

impl StderrTail {
    /// Starts a thread that reads `pipe`. It writes notes to standard error and, if the level of the workers' log is set, also
    /// every other line with `name`, the worker.
    pub(crate) fn follow(pipe: impl Read + Send + 'static, name: String) -> Self {
        let state = State {
            lines: VecDeque::new(),
            heard: Instant::now(),
            open: true,
        };
        let tail = Self(Arc::new((Mutex::new(state), Condvar::new())));
        let written = tail.clone();
        thread::spawn(move || {
            let is_logged = env::var_os(ENV_LOG).is_some();
            let mut reader = BufReader::new(pipe);
            while let Some(line) = bounded_line(&mut reader, MAX_LINE_BYTES) {
                if let Some(note) = line.strip_prefix(NOTE) {
                    print_error(note);
                } else if is_logged && !line.is_empty() {
                    // The line is lost if standard error is closed.
                    print_error(&format!("{name}: {line}"));
                }
                written.push(line);
            }
            written.state().open = false;
            written.0.1.notify_all();
        });
        tail
    }

    /// The last lines, joined by newlines.
    pub(crate) fn lines(&self) -> String {
        let state = self.state();
        state
            .lines
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// When the latest line was read, or reading started.
    pub(crate) fn heard(&self) -> Instant {
        self.state().heard
    }

    /// Waits until the stream ends, or `timeout` passes: a process that outlives the worker may keep the stream open.
    pub(crate) fn wait_for_end(&self, timeout: Duration) {
        let waited = self
            .0
            .1
            .wait_timeout_while(self.state(), timeout, |state| state.open);
        drop(waited);
    }

    /// Keeps a line. An empty line says only that the worker is alive.
    fn push(&self, line: String) {
        let mut state = self.state();
        state.heard = Instant::now();
        if line.is_empty() {
            return;
        }
        if state.lines.len() == LINES {
            state.lines.pop_front();
        }
        state.lines.push_back(line);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
