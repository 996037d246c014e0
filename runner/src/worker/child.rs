//! One instrument process, from start to exit. Starts the process, sends requests to it and kills it.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{Assignment, InstrumentProcess};
use rustix::process::{Pid, Signal, kill_process_group};

use super::environment::environment;
use super::kept_log::KeptLog;
use super::shared_memory;
use super::tail::Tail;
use super::working_directory::WorkingDirectory;
use crate::frame::{self, FrameError, FrameReader};
use crate::instrument::protocol::{MAX_MESSAGE_BYTES, Reply, Request};
use crate::process;
use crate::worker_event::WorkerEvent;

/// Timeout for sending a request. An instrument reads requests whenever it is not measuring.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the exit of a killed instrument.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A running instrument. It is killed when this value is dropped, and the kernel sends it a signal when the thread that
/// started it exits.
#[derive(Debug)]
pub struct Instrument {
    /// Serial number, which distinguishes this process from earlier ones.
    pub serial: u64,
    child: Child,
    socket: UnixStream,
    tail: Option<Tail>,
    /// Whether the process group has been killed. Once it has, its ID may be reused.
    killed: bool,
    /// This field is declared last, so that the directory is removed after the process has exited.
    _directory: WorkingDirectory,
}

/// Exit status and output of an instrument.
#[derive(Debug)]
pub struct InstrumentExit {
    /// Whether the process exited on its own with status 0.
    pub success: bool,
    /// Description of the exit status, such as `exited with status 1` or `was killed by signal 11`.
    pub status: String,
    /// End of the output.
    pub output: String,
}

impl Instrument {
    /// Starts this binary as an instrument, with the environment of `process` and in an empty working directory. Its
    /// replies are sent to `events`. `HOME` is inherited, because libraries keep caches there. If UCX finds a
    /// configuration file there, the file is part of the recorded configuration. All output is appended to `log`, if
    /// there is one.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, or the process or a thread cannot be started.
    pub fn start(
        serial: u64,
        assignment: &Assignment,
        process: &InstrumentProcess,
        log: Option<KeptLog>,
        events: SyncSender<WorkerEvent>,
    ) -> io::Result<Self> {
        let (socket, child_socket) = UnixStream::pair()?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        let directory = WorkingDirectory::create()?;
        let child = Command::new(env::current_exe()?)
            .arg("instrument")
            .arg("--parent")
            .arg(std::process::id().to_string())
            .current_dir(directory.path())
            .env_clear()
            .envs(environment(assignment, process, &env::vars_os().collect()))
            .stdin(OwnedFd::from(child_socket))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The instrument gets its own process group, so that its descendants can be killed with it.
            .process_group(0)
            .spawn()?;
        let mut instrument = Self {
            serial,
            child,
            socket: socket.try_clone()?,
            tail: None,
            killed: false,
            _directory: directory,
        };
        let mut tail = Tail::new(log);
        if let Some(stdout) = instrument.child.stdout.take() {
            tail.drain(stdout)?;
        }
        if let Some(stderr) = instrument.child.stderr.take() {
            tail.drain(stderr)?;
        }
        instrument.tail = Some(tail);
        thread::Builder::new()
            .name("replies".into())
            .spawn(move || forward_replies(socket, serial, &events))?;
        Ok(instrument)
    }

    /// Sends one request.
    ///
    /// # Errors
    /// Returns an error if the process does not read the request in time or has exited.
    pub fn send(&mut self, request: &Request) -> Result<(), FrameError> {
        frame::write(&mut self.socket, request, MAX_MESSAGE_BYTES)
    }

    /// Waits up to `grace` for the process to exit, kills the remaining processes in its group, and returns its exit
    /// status and output.
    pub fn wait_or_kill(mut self, grace: Duration) -> InstrumentExit {
        let status = process::wait_until(&mut self.child, Instant::now() + grace)
            .ok()
            .flatten();
        let description = status.map_or_else(|| "was killed".into(), process::describe);
        self.kill();
        InstrumentExit {
            success: status.is_some_and(|status| status.success()),
            status: description,
            output: self.tail.take().map(Tail::finish).unwrap_or_default(),
        }
    }

    /// Kills the process and its group, reaps it, and removes its shared memory. Later calls have no effect.
    fn kill(&mut self) {
        if std::mem::replace(&mut self.killed, true) {
            return;
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // This call fails if the group has no processes left.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Returns immediately if the process has already been reaped. A process that hangs in a device driver does not
        // exit even when it is killed. An error is ignored, because nothing more can be done.
        let _ = process::wait_until(&mut self.child, Instant::now() + EXIT_TIMEOUT);
        shared_memory::remove_endpoints(self.child.id());
    }
}

impl Drop for Instrument {
    fn drop(&mut self) {
        self.kill();
    }
}

fn forward_replies(socket: UnixStream, serial: u64, events: &SyncSender<WorkerEvent>) {
    let mut reader = FrameReader::new(socket);
    loop {
        let reply = reader.read(MAX_MESSAGE_BYTES, None).and_then(|line| {
            serde_json::from_slice::<Reply>(&line).map_err(|source| FrameError::Syntax { source })
        });
        let (event, last) = match reply {
            Ok(reply) => (WorkerEvent::Reply { serial, reply }, false),
            Err(error) => (WorkerEvent::InstrumentLost { serial, error }, true),
        };
        if events.send(event).is_err() || last {
            return;
        }
    }
}
