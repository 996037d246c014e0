//! A shell on another machine, which has read its script. Performs I/O.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::script::MARKER;
use crate::local::{Interrupt, StderrTail, bounded_line};

/// Maximum time from the start of a launcher to the first line of its script.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of lines that are skipped before the script's first line: a banner, or output of the shell's start files.
const MAX_BANNER_LINES: usize = 1000;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 4096;
/// Interval at which a wait looks for a signal to this process.
const TICK: Duration = Duration::from_millis(100);
/// Maximum time to read the standard error of a launcher that has exited.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

/// A shell that runs its script on another machine. It is killed when this value is dropped.
pub(super) struct Connection {
    child: Option<Child>,
    stderr: StderrTail,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Connection {
    /// Starts `command`, a shell on `host`, passes `script` to it, and waits until the script has written [`MARKER`]. The shell
    /// has then read the whole script, and what is written to it goes to the script's programs. Blocks for at most `timeout`.
    ///
    /// # Errors
    /// Returns an error, without the name of the host, if the launcher cannot be started, or exits or takes too long before
    /// that.
    pub(super) fn open(
        command: &mut Command,
        host: &str,
        script: &str,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<Self, String> {
        let launcher = command.get_program().display().to_string();
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot start the launcher {launcher}: {error}"))?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("the launcher has no standard streams".to_owned());
        };
        let mut connection = Self {
            child: Some(child),
            stderr: StderrTail::follow(stderr, host.to_owned()),
            stdin: None,
            stdout: None,
        };
        // If the launcher has exited, its output says why.
        let _ = stdin.write_all(script.as_bytes()).and_then(|()| stdin.flush());
        connection.stdin = Some(stdin);
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let found = skip_to_marker(&mut reader);
            // The send fails only if the caller no longer waits.
            let _ = sender.send(found.then_some(reader));
        });
        let deadline = Instant::now() + timeout;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Some(reader)) => {
                    connection.stdout = Some(reader);
                    return Ok(connection);
                }
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return Err(connection.early_end(&launcher)),
                Err(RecvTimeoutError::Timeout) if interrupt.is_signaled() => {
                    return Err("interrupted while the launcher was starting a shell".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!(
                        "no shell answered through {launcher} within {} s{}",
                        timeout.as_secs(),
                        said(&connection.stderr.lines())
                    ));
                }
            }
        }
    }

    /// Sends `input`, closes the script's standard input, and returns the script's output when it has ended. Blocks for at
    /// most `timeout`.
    ///
    /// # Errors
    /// Returns an error, without the name of the host, if the script fails or takes too long.
    pub(super) fn finish(
        mut self,
        input: Vec<u8>,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<String, String> {
        let deadline = Instant::now() + timeout;
        let (Some(mut stdin), Some(mut stdout)) = (self.stdin.take(), self.stdout.take()) else {
            return Err("the connection was closed".to_owned());
        };
        // If the script does not read everything, it says why.
        thread::spawn(move || stdin.write_all(&input));
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut lines = Vec::new();
            while let Some(line) = bounded_line(&mut stdout, MAX_LINE_BYTES) {
                if lines.len() < MAX_BANNER_LINES {
                    lines.push(line);
                }
            }
            let _ = sender.send(lines.join("\n"));
        });
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(output) => {
                    let status = self.wait();
                    return match status {
                        Some(status) if status.success() => Ok(output),
                        _ => Err(format!("{}{}", exited(status), said(&tail(&self.stderr)))),
                    };
                }
                Err(_) if interrupt.is_signaled() => return Err("interrupted".to_owned()),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(_) => return Err(format!("did not finish within {} s", timeout.as_secs())),
            }
        }
    }

    /// Takes the connection apart: the launcher and its three streams. The caller stops the launcher.
    pub(super) fn into_parts(
        mut self,
    ) -> Option<(Child, ChildStdin, impl Read + Send + 'static, StderrTail)> {
        let (stdin, stdout) = (self.stdin.take()?, self.stdout.take()?);
        Some((self.child.take()?, stdin, stdout, self.stderr.clone()))
    }

    /// Why the launcher ended, or its output did, before the script started.
    fn early_end(&mut self, launcher: &str) -> String {
        let status = self.wait();
        let said = said(&tail(&self.stderr));
        format!("{launcher} did not start a shell: it {}{said}", exited(status))
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        // The launcher has closed its output, so it exits now. A launcher that does not is killed.
        drop(self.stdin.take());
        let deadline = Instant::now() + STDERR_TIMEOUT;
        let child = self.child.as_mut()?;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait().ok()? {
                return Some(status);
            }
            thread::sleep(TICK / 10);
        }
        None
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Signaling a launcher that has exited fails because its process group no longer exists.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            thread::spawn(move || child.wait());
        }
    }
}

/// Reads lines until [`MARKER`]. Returns whether it was found.
fn skip_to_marker(reader: &mut BufReader<ChildStdout>) -> bool {
    (0..MAX_BANNER_LINES)
        .map_while(|_| bounded_line(reader, MAX_LINE_BYTES))
        // The output of a shell's start files may not end with a newline.
        .any(|line| line.trim_end().ends_with(MARKER))
}

/// The standard error of a launcher that is about to exit.
fn tail(stderr: &StderrTail) -> String {
    stderr.wait_for_end(STDERR_TIMEOUT);
    stderr.lines()
}

fn said(stderr: &str) -> String {
    match stderr.is_empty() {
        true => String::new(),
        false => format!(": {stderr}"),
    }
}

fn exited(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("ended with {status}"),
        None => "closed its output".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::Launcher;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Opens a shell on this machine with `launcher`, whose `{host}` is ignored.
    fn open(launcher: &str, script: &str, timeout: Duration) -> Result<Connection, String> {
        let launcher: Launcher = launcher.parse().unwrap();
        let interrupt = Interrupt::listen().unwrap();
        Connection::open(&mut launcher.shell("here"), "here", script, timeout, &interrupt)
    }

    fn finish(connection: Connection, input: &str) -> Result<String, String> {
        let interrupt = Interrupt::listen().unwrap();
        connection.finish(input.as_bytes().to_vec(), TIMEOUT, &interrupt)
    }

    #[test]
    fn input_goes_to_the_program_and_banners_are_skipped() {
        let script = format!("{{\necho '{MARKER}'\ncat\nexit 0\n}}\n");
        // The last line of the banner does not end.
        let banner = "sh -c 'echo Welcome; printf to; exec \"$1\"' {host}";
        let connection = open(banner, &script, TIMEOUT).unwrap();
        assert_eq!(finish(connection, "not\na script\n").unwrap(), "not\na script");
    }

    #[test]
    fn a_launcher_that_fails_is_explained() {
        let refused = open("sh -c 'echo refused >&2; exit 255' {host}", "", TIMEOUT)
            .err()
            .unwrap();
        assert!(refused.contains("exit status: 255: refused"), "{refused}");
        let missing = open("/nonexistent {host}", "", TIMEOUT).err().unwrap();
        assert!(
            missing.contains("cannot start the launcher /nonexistent"),
            "{missing}"
        );
        let script = format!("{{\necho '{MARKER}'\necho full >&2\nexit 3\n}}\n");
        let failed = finish(open("env -u {host}", &script, TIMEOUT).unwrap(), "").unwrap_err();
        assert!(failed.contains("exit status: 3: full"), "{failed}");
    }

    #[test]
    fn a_machine_that_does_not_answer_is_reported_within_the_timeout() {
        let started = Instant::now();
        let late = open(
            "sh -c 'echo waiting >&2; sleep 100' {host}",
            "",
            Duration::from_secs(1),
        )
        .err()
        .unwrap();
        assert!(late.contains("within 1 s: waiting"), "{late}");
        assert!(started.elapsed() < TIMEOUT);
    }
}
