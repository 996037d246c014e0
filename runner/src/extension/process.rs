//! The host's side: starts an extension, calls it, and determines why it failed.

use std::env;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, FailureReason, IntegrityReport};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::Timespec;

use super::calls::{Calls, Payload, connection_failure, unexpected_message};
use super::link::Link;
use super::message::{CallPlan, Message};
use super::pages::{self, MappedPages, ProcessMemory};
use super::{Stream, failure};
use crate::environment;
use crate::integrity::combine;
use crate::measure::deadline::Deadline;
use crate::process;
use crate::topology::SystemRoots;

/// Maximum time for an extension to exit after its connection has failed.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum length of the standard error output that a failure message includes, in bytes.
const MAX_ERRORS: u64 = 1024;
/// Maximum time for an extension to connect over TCP.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A running extension. It is killed when its time limit has passed, and when this value is dropped.
pub struct Extension {
    calls: Calls,
    /// `None` after the process has been reaped.
    child: Option<Child>,
    watchdog: Watchdog,
    /// Number of processes that the kernel had killed in this cgroup for lack of memory before this process was
    /// started.
    oom_kills: Option<u64>,
    /// Standard error of the process.
    errors: File,
}

/// Time limit of an extension.
#[derive(Clone, Copy, Debug)]
pub enum TimeLimit {
    /// The scenario's `timeoutSeconds`, from the start of the extension.
    Scenario(Duration),
    /// The deadline of the case.
    Case(Deadline),
}

impl TimeLimit {
    /// Time left if the extension starts now.
    fn remaining(&self) -> Duration {
        match self {
            Self::Scenario(limit) => *limit,
            Self::Case(deadline) => deadline.remaining(),
        }
    }

    /// Message about an extension that was killed at this limit.
    fn message(&self) -> String {
        match self {
            Self::Scenario(limit) => format!(
                "the extension exceeded the time limit of {} s (timeoutSeconds) and was killed; raise the limit, or use \
                 fewer iterations or smaller payloads",
                limit.as_secs()
            ),
            Self::Case(deadline) => format!(
                "the extension was killed when the case exceeded its deadline of {} s; raise timeoutSeconds or \
                 runPolicy.caseDeadlineSeconds, or use smaller payloads",
                deadline.limit().as_secs()
            ),
        }
    }
}

/// Thread that kills a process after a time limit.
struct Watchdog {
    limit: TimeLimit,
    expired: Arc<AtomicBool>,
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Extension {
    /// Starts an extension, over TCP if `tcp` is true and over a UNIX socket otherwise. It is killed after `limit`.
    ///
    /// # Errors
    /// Returns `Internal` if the process cannot be started, and the errors of [`Extension::call`].
    pub fn start(tcp: bool, plan: CallPlan, limit: TimeLimit) -> Result<Self, CaseFailure> {
        let start_failure = |error: io::Error| {
            failure(
                FailureReason::Internal,
                format!("cannot start an extension: {error}"),
            )
        };
        let (socket, child_socket) = UnixStream::pair().map_err(start_failure)?;
        let mut command = Command::new(env::current_exe().map_err(start_failure)?);
        command
            .args(["extension", "--parent", &std::process::id().to_string()])
            .args(tcp.then_some("--tcp"))
            .stdin(OwnedFd::from(child_socket))
            .stdout(Stdio::null());
        // The file is in memory, so that an extension never waits for a reader.
        let errors = File::from(
            memfd_create(c"extension", MemfdFlags::CLOEXEC).map_err(|error| start_failure(error.into()))?,
        );
        command.stderr(errors.try_clone().map_err(start_failure)?);
        let oom_kills = environment::oom_kills(&SystemRoots::default());
        let child = command.spawn().map_err(start_failure)?;
        // `command` holds the other end of the socket. Once `command` is dropped, only the extension holds that end, so
        // end of file means that the extension has exited.
        drop(command);
        let watchdog = match Watchdog::start(child.id(), limit) {
            Ok(watchdog) => watchdog,
            Err(error) => {
                process::kill(child);
                return Err(start_failure(error));
            }
        };
        let mut extension = Self {
            calls: Calls::new(Link::new(Stream::Unix(socket))),
            child: Some(child),
            watchdog,
            oom_kills,
            errors,
        };
        if tcp {
            let connected = extension.accept();
            extension.calls = extension.diagnose(connected)?;
        }
        extension.calls.set_plan(plan);
        extension.request(&Message::Plan(plan), |message| match message {
            Message::Ready => Ok(()),
            other => Err(other),
        })?;
        Ok(extension)
    }

    /// Process ID of the extension.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Makes the calls of one sample with `payload`, and returns when the reply to the first one has arrived.
    ///
    /// # Errors
    /// Returns `DeadlineExceeded` if the extension was killed at its time limit, `OutOfMemory` if the kernel killed it
    /// for lack of memory or if it cannot allocate memory, `PeerLost` if it exited, and `CompletionFailed` if a message
    /// is malformed.
    pub fn call(&mut self, payload: Payload<'_>) -> Result<(), CaseFailure> {
        let called = self.calls.call(payload);
        self.diagnose(called)
    }

    /// Makes both sides check the payloads of the calls that follow.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`].
    pub fn check_payloads(&mut self, seed: u64, transfer: u64) -> Result<(), CaseFailure> {
        self.calls.check_payloads(seed, transfer);
        let sent = self.calls.send(&Message::Check { seed, transfer });
        self.diagnose(sent)
    }

    /// Returns the result of the checks on both sides.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`].
    pub fn report(&mut self) -> Result<IntegrityReport, CaseFailure> {
        let report = self.request(&Message::Report, |message| match message {
            Message::Checked(report) => Ok(*report),
            other => Err(other),
        })?;
        Ok(combine(self.calls.report(), report))
    }

    /// Makes the extension map `payload`, which is shared memory, and touch its pages. Returns the pages of this
    /// mapping.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`], and `OperationRejected` if the kernel does not report the pages.
    pub fn map(&mut self, payload: Payload<'_>) -> Result<MappedPages, CaseFailure> {
        let sent = self.calls.send_payload(&Message::Map, payload);
        self.diagnose(sent)?;
        let received = self.calls.receive();
        match self.diagnose(received)? {
            Message::Pages(pages) => Ok(pages),
            other => Err(unexpected_message(&other)),
        }
    }

    /// Passes `payload` to the extension, which retains it.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`].
    pub fn hold(&mut self, payload: Payload<'_>) -> Result<(), CaseFailure> {
        let sent = self.calls.send_payload(&Message::Hold, payload);
        self.diagnose(sent)?;
        let received = self.calls.receive();
        match self.diagnose(received)? {
            Message::Ready => Ok(()),
            other => Err(unexpected_message(&other)),
        }
    }

    /// Makes the extension drop the payloads that it retains.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`].
    pub fn release(&mut self) -> Result<(), CaseFailure> {
        self.request(&Message::Release, |message| match message {
            Message::Ready => Ok(()),
            other => Err(other),
        })
    }

    /// Returns the pages of the payloads that the extension retains.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`], and `OperationRejected` if the kernel does not report the pages.
    pub fn held_pages(&mut self) -> Result<MappedPages, CaseFailure> {
        self.request(&Message::HeldPages, |message| match message {
            Message::Pages(pages) => Ok(pages),
            other => Err(other),
        })
    }

    /// Returns the extension's user and system CPU time so far, in nanoseconds.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`].
    pub fn cpu_nanos(&mut self) -> Result<u64, CaseFailure> {
        self.request(&Message::Usage, |message| match message {
            Message::Used { cpu_nanos } => Ok(cpu_nanos),
            other => Err(other),
        })
    }

    /// Returns the memory of the extension.
    ///
    /// # Errors
    /// Returns the errors of [`Extension::call`], and `OperationRejected` if the kernel does not report the memory.
    pub fn memory(&mut self) -> Result<ProcessMemory, CaseFailure> {
        if let Some(memory) = pages::process_memory(self.id()) {
            return Ok(memory);
        }
        // The kernel does not report the memory of a process that has exited. In that case, the request fails.
        self.cpu_nanos()?;
        Err(pages::unknown_memory())
    }

    fn request<R>(
        &mut self,
        message: &Message,
        pick: impl FnOnce(Message) -> Result<R, Message>,
    ) -> Result<R, CaseFailure> {
        let sent = self.calls.send(message);
        self.diagnose(sent)?;
        let received = self.calls.receive();
        pick(self.diagnose(received)?).map_err(|other| unexpected_message(&other))
    }

    /// Sends the port to the extension, and accepts its connection.
    fn accept(&mut self) -> Result<Calls, CaseFailure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(connection_failure)?;
        let port = listener.local_addr().map_err(connection_failure)?.port();
        let token = token().map_err(connection_failure)?;
        let expected = token.clone();
        self.calls.send(&Message::Connect { port, token })?;
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            let stream = accept_before(&listener, deadline).map_err(connection_failure)?;
            stream.set_nodelay(true).map_err(connection_failure)?;
            // Another process on this machine may connect first. The timeout prevents it from blocking the extension.
            stream
                .set_read_timeout(Some(EXIT_TIMEOUT))
                .map_err(connection_failure)?;
            let socket = stream.try_clone().map_err(connection_failure)?;
            let mut calls = Calls::new(Link::new(Stream::Tcp(stream)));
            if let Ok(Message::Hello { token }) = calls.receive()
                && token == expected
            {
                socket.set_read_timeout(None).map_err(connection_failure)?;
                return Ok(calls);
            }
        }
    }

    /// Replaces a failure with its cause, if the extension has exited or has been killed.
    fn diagnose<R>(&mut self, result: Result<R, CaseFailure>) -> Result<R, CaseFailure> {
        result.map_err(|error| self.cause(error))
    }

    fn cause(&mut self, error: CaseFailure) -> CaseFailure {
        if error.reason != FailureReason::PeerLost {
            return error;
        }
        let Some(child) = &mut self.child else {
            return error;
        };
        let status = process::wait_until_exited(child, Instant::now() + EXIT_TIMEOUT);
        if self.watchdog.expired.load(Ordering::Acquire) {
            return failure(FailureReason::DeadlineExceeded, self.watchdog.limit.message());
        }
        let Some(description) = status else {
            return error;
        };
        // An extension that refuses a message reports the reason before it exits, although the host may still be sending.
        if let Some(failure) = self.calls.reported_failure() {
            return failure;
        }
        let kills = environment::oom_kills(&SystemRoots::default());
        let killed_for_memory = kills
            .zip(self.oom_kills)
            .is_some_and(|(now, before)| now > before);
        if killed_for_memory {
            let message = format!(
                "the extension {description}, because its cgroup ran out of memory; raise the memory limit, or use \
                 smaller payloads"
            );
            return failure(FailureReason::OutOfMemory, message);
        }
        let errors = match last_text(&self.errors) {
            Ok(text) if !text.is_empty() => format!("; its standard error ends with: {text}"),
            _ => String::new(),
        };
        failure(
            FailureReason::PeerLost,
            format!("the extension {description}{errors}"),
        )
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        // The process is reaped only after the watchdog has stopped, so that the watchdog never kills another process
        // with the same ID.
        self.watchdog.stop();
        if let Some(child) = self.child.take() {
            process::kill(child);
        }
    }
}

impl Watchdog {
    fn start(process: u32, limit: TimeLimit) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let expired = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&expired);
        let watch = move || {
            if stopped.recv_timeout(limit.remaining()) == Err(RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::Release);
                if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
                    // This call fails if the process has exited.
                    let _ = kill_process(process, Signal::KILL);
                }
            }
        };
        let thread = thread::Builder::new().name("watchdog".into()).spawn(watch)?;
        Ok(Self {
            limit,
            expired,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    fn stop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns random text that only the extension receives.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u128::from_le_bytes(bytes).to_string())
}

/// Returns the last [`MAX_ERRORS`] bytes of a file as text.
fn last_text(file: &File) -> io::Result<String> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(MAX_ERRORS);
    let mut bytes = vec![0; (length - start) as usize];
    file.read_exact_at(&mut bytes, start)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn accept_before(listener: &TcpListener, deadline: Instant) -> io::Result<TcpStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
    let ready = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout))?;
    if ready == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(listener.accept()?.0)
}
