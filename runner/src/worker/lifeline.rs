//! Stops a worker whose assignment came on standard input when the command that started it is lost. Reads standard
//! input and writes to standard error.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use crds::lifeline::{HEARTBEAT, MAX_SILENCE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::process::{Signal, getpid, kill_process};

/// Starts a thread that writes an empty line to standard error every [`HEARTBEAT`], and sends SIGTERM to this process
/// at the end of standard input, or after [`MAX_SILENCE`] without input.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub(super) fn start() -> io::Result<()> {
    thread::Builder::new()
        .name("lifeline".into())
        .spawn(|| {
            let cause = follow(&io::stdin(), MAX_SILENCE);
            // The message is lost if standard error is closed.
            let _ = writeln!(io::stderr(), "the worker stops: {cause}");
            let _ = kill_process(getpid(), Signal::TERM);
        })
        .map(drop)
}

/// Reads from `input` until it ends or is silent. Returns the cause.
fn follow(input: &io::Stdin, max_silence: Duration) -> String {
    let mut heard = Instant::now();
    let mut written = Instant::now();
    let timeout = Timespec::try_from(HEARTBEAT).ok();
    loop {
        let ready = poll(&mut [PollFd::new(input, PollFlags::IN)], timeout.as_ref());
        match ready {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => match read(input, &mut [0; 256]) {
                Ok(0) => return "the connection to the command that started it was closed".to_owned(),
                Ok(_) => heard = Instant::now(),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return format!("standard input cannot be read: {error}"),
            },
            Err(error) => return format!("standard input cannot be read: {error}"),
        }
        if heard.elapsed() > max_silence {
            return format!(
                "nothing was heard from the command that started it for {} s",
                max_silence.as_secs()
            );
        }
        if written.elapsed() >= HEARTBEAT {
            written = Instant::now();
            // The other side notices that it hears nothing.
            let _ = io::stderr().write_all(b"\n");
        }
    }
}
