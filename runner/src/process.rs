//! Child processes: waiting with a limit, collecting what they say, and how they ended.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// How often an ending process is looked at.
const TICK: Duration = Duration::from_millis(2);
/// How long the end of a stream is waited for once its process has ended: a descendant may hold it open.
const END_WAIT: Duration = Duration::from_millis(500);

/// Waits for a child until `deadline`: nothing when it is still running then.
///
/// # Errors
/// When it cannot be waited for.
pub fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() >= deadline {
            return Ok(status);
        }
        thread::sleep(TICK);
    }
}

/// Makes the kernel send this process `signal` when `parent`, which started it, dies.
///
/// # Errors
/// When the kernel refuses, or the parent is already gone.
pub fn end_with_parent(parent: u32, signal: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    // It may have died before that.
    let expected = i32::try_from(parent).ok().and_then(Pid::from_raw);
    if getppid() == expected {
        Ok(())
    } else {
        Err(io::Error::from(Errno::SRCH))
    }
}

/// How a process ended, in words: `exited with status 1`, `was ended by signal 11`.
pub fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// The beginning of a stream, collected by a thread.
#[derive(Debug)]
pub struct Collected(Receiver<Vec<u8>>);

/// Collects the first `max` bytes of `stream`.
///
/// # Errors
/// When no thread can be started.
pub fn collect(stream: impl Read + Send + 'static, max: usize) -> io::Result<Collected> {
    let (sender, receiver) = sync_channel(1);
    let collect = move || {
        let mut bytes = Vec::new();
        // What was read before an error counts.
        let _ = stream.take(max as u64).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    };
    thread::Builder::new().name("answer".into()).spawn(collect)?;
    Ok(Collected(receiver))
}

impl Collected {
    /// The text, after the process has ended.
    pub fn finish(self) -> String {
        let bytes = self.0.recv_timeout(END_WAIT).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
