//! The supervisor's side: executes one command in a separate process group, reports its exit, and kills every process
//! that it started. The command has no standard input, and its output goes to the pipes that the supervisor inherited.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitStatus, getpid, kill_process_group, set_child_subreaper};
use rustix::thread::{CpuSet, sched_setaffinity};
use signal_hook::consts::SIGCHLD;
use snafu::{ResultExt, Snafu};

use super::descendants::{self, NoChildren};
use super::message::{CommandLine, Event, MAX_MESSAGE_BYTES, Request};
use crate::frame::{self, FrameError, FrameReader};
use crate::process::socket_on_stdin;

/// Maximum time for a command to exit after SIGTERM. It is then killed.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time for the processes that a command started to exit after the command has exited. Processes that are still
/// running after this time count as left behind.
const LEFT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum time for killed processes to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which remaining processes are searched for and killed.
const KILL_INTERVAL: Duration = Duration::from_millis(20);

/// Error returned by a supervisor.
#[derive(Debug, Snafu)]
pub enum SupervisorError {
    /// Standard input is not an instrument's socket.
    #[snafu(display("standard input is not a socket; a supervisor must be started by an instrument"))]
    NoInstrument,
    /// A system call failed.
    #[snafu(display("{action} failed: {source}"))]
    System {
        /// Action that failed.
        action: &'static str,
        /// System call error.
        source: std::io::Error,
    },
    /// The connection to the instrument failed.
    #[snafu(display("the connection to the instrument failed: {source}"))]
    Instrument {
        /// Cause of the failure.
        source: FrameError,
    },
}

/// Runs the supervisor until its command is stopped or the instrument closes the connection.
///
/// # Errors
/// Returns an error if standard input is not a socket, a system call fails, or the connection fails.
pub fn run() -> Result<(), SupervisorError> {
    let socket = socket_on_stdin().context(SystemSnafu {
        action: "duplicating the instrument's socket",
    })?;
    let socket = socket.ok_or(SupervisorError::NoInstrument)?;
    set_child_subreaper(Some(getpid()))
        .map_err(std::io::Error::from)
        .context(SystemSnafu {
            action: "becoming the parent of orphaned processes",
        })?;
    let writer = socket.try_clone().context(SystemSnafu {
        action: "duplicating a socket",
    })?;
    let mut supervisor = Supervisor {
        reader: FrameReader::new(socket),
        writer,
        exits: exit_socket().context(SystemSnafu {
            action: "watching for process exits",
        })?,
    };
    let supervised = supervisor.supervise();
    supervisor.kill_all();
    supervised
}

/// Socket that becomes readable when a child exits.
fn exit_socket() -> std::io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, writer)?;
    Ok(reader)
}

struct Supervisor {
    reader: FrameReader<UnixStream>,
    writer: UnixStream,
    exits: UnixStream,
}

impl Supervisor {
    /// Executes the command, and reports when it exits and when all its processes have exited.
    fn supervise(&mut self) -> Result<(), SupervisorError> {
        let Some(Request::Execute(line)) = self.next_request()? else {
            return Ok(());
        };
        let child = match execute(&line) {
            Ok(child) => child,
            Err(error) => {
                let message = error.to_string();
                return self.report(&Event::NotStarted { message });
            }
        };
        self.report(&Event::Started)?;
        let mut status = None;
        while status.is_none() {
            status = exit_status(child);
            if status.is_none() && self.wait(None) {
                // The instrument has requested a stop, or has exited.
                let stops = matches!(self.next_request(), Ok(Some(Request::Stop)));
                if stops {
                    self.terminate(child);
                    self.kill_all();
                    self.report(&Event::Stopped)?;
                }
                return Ok(());
            }
        }
        let left = self.left_processes();
        let (success, description) = status.map(describe_exit).unwrap_or_default();
        self.report(&Event::Exited {
            success,
            description,
            left,
        })?;
        // The instrument reads the output before it closes the connection.
        if matches!(self.next_request(), Ok(Some(Request::Stop))) {
            self.kill_all();
            self.report(&Event::Stopped)?;
        }
        Ok(())
    }

    /// Returns the next request; `None` if the instrument has closed the connection.
    fn next_request(&mut self) -> Result<Option<Request>, SupervisorError> {
        let line = match self.reader.read(MAX_MESSAGE_BYTES, None) {
            Ok(line) => line,
            Err(FrameError::Closed) => return Ok(None),
            Err(source) => return Err(SupervisorError::Instrument { source }),
        };
        let order = serde_json::from_slice(&line).map_err(|source| FrameError::Syntax { source });
        order.map(Some).context(InstrumentSnafu)
    }

    fn report(&mut self, event: &Event) -> Result<(), SupervisorError> {
        frame::write(&mut self.writer, event, MAX_MESSAGE_BYTES).context(InstrumentSnafu)
    }

    /// Waits until a child exits, a request arrives or `timeout` has passed. Returns whether a request has arrived, or
    /// the instrument has closed the connection.
    fn wait(&mut self, timeout: Option<Duration>) -> bool {
        if self.reader.has_line() {
            return true;
        }
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut ready = [
            PollFd::new(self.reader.stream(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.exits.as_fd(), PollFlags::IN),
        ];
        // A signal interrupts the call, and also makes the socket readable.
        let polled = poll(&mut ready, timeout.as_ref());
        let has_order = polled.is_ok() && !ready[0].revents().is_empty();
        let mut bytes = [0; 64];
        while matches!(self.exits.read(&mut bytes), Ok(count) if count > 0) {}
        has_order
    }

    /// Names of the processes that the command left behind and that do not exit by themselves.
    fn left_processes(&mut self) -> Vec<String> {
        let deadline = Instant::now() + LEFT_TIMEOUT;
        loop {
            match descendants::reap() {
                Ok(Some(_)) => continue,
                Err(NoChildren) => return Vec::new(),
                Ok(None) => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(Some(left)) {
                return descendants::child_names();
            }
        }
    }

    /// Sends SIGTERM to the command's process group, and waits for the command to exit.
    fn terminate(&mut self, child: Pid) {
        // This call fails if no process is left in the group.
        let _ = kill_process_group(child, Signal::TERM);
        let deadline = Instant::now() + TERMINATION_TIMEOUT;
        while exit_status(child).is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(Some(left)) {
                return;
            }
        }
    }

    fn kill_all(&mut self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        descendants::kill_all(deadline, || {
            let timeout = Timespec::try_from(KILL_INTERVAL).ok();
            let mut exits = [PollFd::from_borrowed_fd(self.exits.as_fd(), PollFlags::IN)];
            let _ = poll(&mut exits, timeout.as_ref());
            let mut bytes = [0; 64];
            while matches!(self.exits.read(&mut bytes), Ok(count) if count > 0) {}
        });
    }
}

/// Starts the command in its own process group.
fn execute(line: &CommandLine) -> std::io::Result<Pid> {
    let (program, arguments) = line
        .arguments
        .split_first()
        .ok_or(std::io::ErrorKind::InvalidInput)?;
    if !line.cpus.is_empty() {
        // The measuring thread that started this process is pinned to one CPU.
        let mut set = CpuSet::new();
        for cpu in line.cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU) {
            set.set(*cpu as usize);
        }
        sched_setaffinity(None, &set)?;
    }
    let child = Command::new(program)
        .args(arguments)
        .envs(line.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// Exit status of `child` if it has exited. Other children that have exited are reaped as well.
fn exit_status(child: Pid) -> Option<WaitStatus> {
    while let Ok(Some((pid, status))) = descendants::reap() {
        if pid == child {
            return Some(status);
        }
    }
    None
}

/// Returns whether the status is 0, and its description.
fn describe_exit(status: WaitStatus) -> (bool, String) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code == 0, format!("exited with status {code}")),
        (None, Some(signal)) => (false, format!("was killed by signal {signal}")),
        (None, None) => (false, "exited".to_owned()),
    }
}
