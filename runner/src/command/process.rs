//! The instrument's side: starts a command under a supervisor, and waits for it. Performs I/O.

use std::env;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, FailureReason};

use super::message::{CommandLine, Event, MAX_MESSAGE_BYTES, Request};
use super::output::{self, Output, Stream};
use crate::frame::{self, FrameError, FrameReader};
use crate::process;

/// Maximum time for a supervisor to start a command.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for a supervisor to stop a command: one second until the command is killed, five seconds until all its
/// processes have exited, and two seconds of tolerance.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum time for a command's output to arrive after all its processes have exited.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which the output is checked for completeness.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(1);

/// A command that has been started. All its processes are killed when this value is dropped.
pub struct Process {
    program: String,
    supervisor: Option<Child>,
    reader: FrameReader<UnixStream>,
    writer: UnixStream,
    streams: Vec<Stream>,
}

/// How a command exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Whether its exit status is 0.
    pub success: bool,
    /// Description of the exit status.
    pub description: String,
    /// Names of the processes that the command left behind. They are killed when the command is stopped.
    pub left: Vec<String>,
}

impl Process {
    /// Starts the command under a supervisor, which runs the binary `runner`.
    ///
    /// # Errors
    /// Returns `Internal` if the supervisor cannot be started, and `CommandFailed` if the command cannot be executed.
    pub fn start(runner: PathBuf, line: CommandLine) -> Result<Self, CaseFailure> {
        let program = line.arguments.first().cloned().unwrap_or_default();
        let mut process = spawn(runner, program).map_err(|error| CaseFailure {
            reason: FailureReason::Internal,
            message: format!("the command supervisor cannot be started: {error}"),
        })?;
        let sent = frame::write(&mut process.writer, &Request::Execute(line), MAX_MESSAGE_BYTES);
        sent.map_err(|error| supervisor_lost(&error.to_string()))?;
        match process.next_event(Instant::now() + START_TIMEOUT)? {
            Some(Event::Started) => Ok(process),
            Some(Event::NotStarted { message }) => Err(CaseFailure {
                reason: FailureReason::CommandFailed,
                message: format!(
                    "`{}` cannot be executed: {message}. Install it in the variant's image, or specify its path",
                    process.program
                ),
            }),
            other => Err(supervisor_lost(&format!("{other:?}"))),
        }
    }

    /// Path of this binary.
    ///
    /// # Errors
    /// Returns `Internal` if the path is unknown.
    pub fn runner_path() -> Result<PathBuf, CaseFailure> {
        env::current_exe().map_err(|error| CaseFailure {
            reason: FailureReason::Internal,
            message: format!("the runner path is unknown: {error}"),
        })
    }

    /// Waits for the command to exit until `deadline`. Returns `None` if it is still running.
    ///
    /// # Errors
    /// Returns `Internal` if the supervisor has exited.
    pub fn wait(&mut self, deadline: Instant) -> Result<Option<Exit>, CaseFailure> {
        match self.next_event(deadline)? {
            None => Ok(None),
            Some(Event::Exited {
                success,
                description,
                left,
            }) => Ok(Some(Exit {
                success,
                description,
                left,
            })),
            Some(other) => Err(supervisor_lost(&format!("{other:?}"))),
        }
    }

    /// Terminates the command if it is still running, kills and reaps all its processes, and returns its complete
    /// output.
    ///
    /// # Errors
    /// Returns `CommandFailed` if a process cannot be killed, because it hangs in a system call, and `Internal` if the
    /// supervisor has exited.
    pub fn stop(mut self) -> Result<Output, CaseFailure> {
        let sent = frame::write(&mut self.writer, &Request::Stop, MAX_MESSAGE_BYTES);
        sent.map_err(|error| supervisor_lost(&error.to_string()))?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            match self.next_event(deadline)? {
                Some(Event::Stopped) => break,
                // The command exited before the request arrived.
                Some(Event::Exited { .. }) => {}
                None => {
                    return Err(CaseFailure {
                        reason: FailureReason::CommandFailed,
                        message: format!(
                            "a process of `{}` cannot be killed within {} s, because it hangs in a system call",
                            self.program,
                            STOP_TIMEOUT.as_secs()
                        ),
                    });
                }
                Some(other) => return Err(supervisor_lost(&format!("{other:?}"))),
            }
        }
        self.finish();
        let deadline = Instant::now() + OUTPUT_TIMEOUT;
        while !self.streams.iter().all(Stream::has_ended) && Instant::now() < deadline {
            std::thread::sleep(OUTPUT_INTERVAL);
        }
        if !self.streams.iter().all(Stream::has_ended) {
            return Err(CaseFailure {
                reason: FailureReason::CommandFailed,
                message: format!(
                    "the output of `{}` did not end within {} s after all its processes had exited, so it may be \
                     incomplete",
                    self.program,
                    OUTPUT_TIMEOUT.as_secs()
                ),
            });
        }
        Ok(self.output())
    }

    /// Output that has been collected so far.
    pub fn output(&self) -> Output {
        output::collected_output(&self.streams)
    }

    /// Program that the command runs.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the next event; `None` if none arrives before `deadline`.
    fn next_event(&mut self, deadline: Instant) -> Result<Option<Event>, CaseFailure> {
        let line = match self.reader.read(MAX_MESSAGE_BYTES, Some(deadline)) {
            Ok(line) => line,
            Err(FrameError::TooSlow) => return Ok(None),
            Err(error) => return Err(supervisor_lost(&error.to_string())),
        };
        let event = serde_json::from_slice(&line).map_err(|error| supervisor_lost(&error.to_string()));
        event.map(Some)
    }

    /// Closes the connection, so that the supervisor kills the remaining processes, and waits for the supervisor to
    /// exit.
    fn finish(&mut self) {
        // This call fails if the supervisor has exited.
        let _ = self.writer.shutdown(Shutdown::Both);
        if let Some(mut supervisor) = self.supervisor.take() {
            let _ = process::wait_until(&mut supervisor, Instant::now() + STOP_TIMEOUT);
            process::kill(supervisor);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.finish();
    }
}

fn spawn(runner: PathBuf, program: String) -> io::Result<Process> {
    let (socket, child_socket) = UnixStream::pair()?;
    let writer = socket.try_clone()?;
    let mut command = Command::new(runner);
    command
        .arg("supervise")
        .stdin(OwnedFd::from(child_socket))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The supervisor must outlive the instrument's process group, so that it can kill the command.
        .process_group(0);
    let mut supervisor = command.spawn()?;
    // `command` holds the other end of the socket. Once `command` is dropped, only the supervisor holds that end, so end
    // of file means that the supervisor has exited.
    drop(command);
    let (stdout, stderr) = (supervisor.stdout.take(), supervisor.stderr.take());
    let mut process = Process {
        program,
        supervisor: Some(supervisor),
        reader: FrameReader::new(socket),
        writer,
        streams: Vec::new(),
    };
    if let Some(stdout) = stdout {
        process.streams.push(Stream::collect(stdout)?);
    }
    if let Some(stderr) = stderr {
        process.streams.push(Stream::collect(stderr)?);
    }
    Ok(process)
}

fn supervisor_lost(cause: &str) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Internal,
        message: format!("the command supervisor failed: {cause}"),
    }
}
