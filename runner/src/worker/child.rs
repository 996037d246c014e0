//! One instrument process, from start to end. Starts, feeds and kills a process.

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

use super::event::WorkerEvent;
use super::shared_memory;
use super::tail::Tail;
use crate::frame::{self, FrameError, FrameReader};
use crate::instrument::protocol::{MAX_MESSAGE_BYTES, Reply, Request};
use crate::process;
use crate::transport::choice::required_environment;

/// How long a request may take to leave; an instrument reads whenever it is not measuring.
const SEND_WAIT: Duration = Duration::from_secs(10);
/// A running instrument. It is killed when this is dropped, and told to end by the kernel when this thread ends.
#[derive(Debug)]
pub struct Instrument {
    /// Told apart from earlier processes by this.
    pub serial: u64,
    child: Child,
    socket: UnixStream,
    tail: Option<Tail>,
    /// Whether the group was killed: its number may soon be another's.
    killed: bool,
}

/// How an instrument ended.
#[derive(Debug)]
pub struct Ended {
    /// Whether it exited by itself, with status 0.
    pub well: bool,
    /// In words: `exited with status 1`, `was ended by signal 11`.
    pub how: String,
    /// The last of what it printed.
    pub output: String,
}

impl Instrument {
    /// Starts a process of this program with the environment of `process` of `assignment`; its replies arrive at
    /// `events`.
    ///
    /// # Errors
    /// When the system starts no process or thread.
    pub fn start(
        serial: u64,
        assignment: &Assignment,
        process: &InstrumentProcess,
        events: SyncSender<WorkerEvent>,
    ) -> io::Result<Self> {
        let peers = assignment.workers as usize - 1;
        let unset = |(name, _): &(&str, String)| env::var_os(name).is_none();
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(SEND_WAIT))?;
        let child = Command::new(env::current_exe()?)
            .arg("instrument")
            .arg("--parent")
            .arg(std::process::id().to_string())
            .envs(
                required_environment(&assignment.transport, peers)
                    .into_iter()
                    .filter(unset),
            )
            .envs(&process.env)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that whatever it starts ends with it.
            .process_group(0)
            .spawn()?;
        let mut instrument = Self {
            serial,
            child,
            socket: ours.try_clone()?,
            tail: None,
            killed: false,
        };
        let mut tail = Tail::new();
        if let Some(stdout) = instrument.child.stdout.take() {
            tail.drain(stdout)?;
        }
        if let Some(stderr) = instrument.child.stderr.take() {
            tail.drain(stderr)?;
        }
        instrument.tail = Some(tail);
        thread::Builder::new()
            .name("replies".into())
            .spawn(move || forward(ours, serial, &events))?;
        Ok(instrument)
    }

    /// Sends one request.
    ///
    /// # Errors
    /// When the process does not take it.
    pub fn send(&mut self, request: &Request) -> Result<(), FrameError> {
        frame::write(&mut self.socket, request, MAX_MESSAGE_BYTES)
    }

    /// Waits up to `grace` for the process to end by itself, kills what is left of its group, and says how it ended.
    pub fn end(mut self, grace: Duration) -> Ended {
        let status = process::wait_until(&mut self.child, Instant::now() + grace)
            .ok()
            .flatten();
        let how = status.map_or_else(|| "was killed".into(), process::describe);
        self.kill();
        Ended {
            well: status.is_some_and(|status| status.success()),
            how,
            output: self.tail.take().map(Tail::finish).unwrap_or_default(),
        }
    }

    /// Kills the process and all of its group, reaps it, and frees its shared memory. Does nothing when it is gone.
    fn kill(&mut self) {
        if std::mem::replace(&mut self.killed, true) {
            return;
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Fails when nothing of the group is left, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Already reaped where this fails.
        let _ = self.child.wait();
        shared_memory::remove_endpoints(self.child.id());
    }
}

impl Drop for Instrument {
    fn drop(&mut self) {
        self.kill();
    }
}

fn forward(socket: UnixStream, serial: u64, events: &SyncSender<WorkerEvent>) {
    let mut reader = FrameReader::new(socket);
    loop {
        let reply = reader.read(MAX_MESSAGE_BYTES, None).and_then(|line| {
            serde_json::from_slice::<Reply>(&line).map_err(|source| FrameError::Syntax { source })
        });
        let (event, last) = match reply {
            Ok(reply) => (WorkerEvent::Reply { serial, reply }, false),
            Err(error) => (WorkerEvent::InstrumentGone { serial, error }, true),
        };
        if events.send(event).is_err() || last {
            return;
        }
    }
}
