//! Child processes: waiting with a timeout, collecting output and formatting the exit status. Performs I/O.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getppid, pidfd_open, set_parent_process_death_signal};

/// Interval at which a process is polled for its exit if its exit cannot be awaited: kernels before 5.3 have no process
/// file descriptors, and their number is limited.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum time to wait for a killed process to exit. Also the maximum time to wait for the end of an exited process's
/// output, because a descendant may keep the stream open.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// Waits until `child` exits or `deadline` passes. Returns `None` if the child is still running.
///
/// # Errors
/// Returns an error if the system cannot wait for the child.
pub fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let mut exit = None;
    loop {
        let status = child.try_wait()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if status.is_some() || left.is_zero() {
            return Ok(status);
        }
        let exit = exit.get_or_insert_with(|| pidfd_open(Pid::from_child(child), PidfdFlags::empty()));
        match (exit, Timespec::try_from(left)) {
            (Ok(exit), Ok(timeout)) => match poll(&mut [PollFd::new(exit, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => thread::sleep(POLL_INTERVAL.min(left)),
            },
            _ => thread::sleep(POLL_INTERVAL.min(left)),
        }
    }
}

/// Waits until `child` exits or `deadline` passes. Returns a description of its exit status; `None` if it is still
/// running.
pub fn wait_until_exited(child: &mut Child, deadline: Instant) -> Option<String> {
    wait_until(child, deadline).ok().flatten().map(describe)
}

/// Kills `child` and waits briefly for it to exit. A process that hangs in a device driver exits only when the driver
/// returns; in that case, a separate thread waits for it.
pub fn kill(mut child: Child) {
    // An error means that the process has already exited.
    let _ended = child.kill();
    if let Ok(None) = wait_until(&mut child, Instant::now() + END_TIMEOUT) {
        let _reaper = thread::Builder::new()
            .name("reaper".into())
            .spawn(move || child.wait());
    }
}

/// Makes the kernel send `signal` to this process when its parent process, `parent`, dies.
///
/// # Errors
/// Returns an error if the kernel rejects the request, or the parent has already exited.
pub fn end_with_parent(parent: u32, signal: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    // The parent may have exited before the death signal was set.
    let expected = i32::try_from(parent).ok().and_then(Pid::from_raw);
    if getppid() == expected {
        Ok(())
    } else {
        Err(io::Error::from(Errno::SRCH))
    }
}

/// Takes the socket from standard input and replaces standard input with `/dev/null`, so that no library can read the
/// messages. Returns `None` if standard input is not a socket.
///
/// # Errors
/// Returns an error if a system call fails.
pub fn socket_on_stdin() -> io::Result<Option<UnixStream>> {
    let stdin = io::stdin();
    let stat = rustix::fs::fstat(&stdin)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Ok(None);
    }
    let socket = rustix::io::fcntl_dupfd_cloexec(&stdin, 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Some(UnixStream::from(socket)))
}

/// Formats an exit status, such as `exited with status 1` or `was killed by signal 11`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "exited".into(),
    }
}

/// Handle to the first bytes of a stream that a separate thread is reading.
#[derive(Debug)]
pub struct StreamCollector(Receiver<Vec<u8>>);

/// Collects the first `max` bytes of `stream` in a separate thread.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub fn collect(stream: impl Read + Send + 'static, max: usize) -> io::Result<StreamCollector> {
    let (sender, receiver) = sync_channel(1);
    let collect = move || {
        let mut bytes = Vec::new();
        // Data that was read before an error is still returned.
        let _ = stream.take(max as u64).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    };
    thread::Builder::new().name("output".into()).spawn(collect)?;
    Ok(StreamCollector(receiver))
}

impl StreamCollector {
    /// Returns the collected output. Call this function after the process has exited.
    pub fn finish(self) -> String {
        let bytes = self.0.recv_timeout(END_TIMEOUT).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn kill_waits_until_the_process_has_exited() {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let directory = format!("/proc/{}", child.id());
        kill(child);
        assert!(!Path::new(&directory).exists());
    }
}
