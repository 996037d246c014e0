//! A shell on another machine, which has read its script. Performs I/O.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::script::MARKER;
use crate::local::{Input, Interrupt, StartedWorker, StderrTail, bounded_line};

/// Maximum time from the start of a launcher to the first line of its script.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of lines that are kept of a script's output, or skipped before its first line: a banner, or output of the
/// shell's start files.
const MAX_LINES: usize = 1000;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 4096;
/// Interval at which a wait looks for a signal to this process.
const TICK: Duration = Duration::from_millis(100);
/// Maximum time for a launcher that has closed its output to exit, and to read its standard error.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A shell that runs its script on another machine.
pub(super) struct Connection {
    launched: Launched,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
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
        let mut launched = Launched {
            child: Some(child),
            stderr: StderrTail::follow(stderr, host.to_owned()),
        };
        // If the launcher has exited, its output says why.
        let _ = stdin.write_all(script.as_bytes()).and_then(|()| stdin.flush());
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            if skip_to_marker(&mut reader) {
                // The send fails only if the caller no longer waits.
                let _ = sender.send(reader);
            }
        });
        match receive(&receiver, timeout, interrupt) {
            Ok(stdout) => Ok(Self {
                launched,
                stdin,
                stdout,
            }),
            Err(NoAnswer::Ended) => {
                drop(stdin);
                let status = launched.wait();
                let end = launched.describe(status);
                Err(format!("{launcher} did not start a shell: it {end}"))
            }
            Err(NoAnswer::Interrupted) => {
                Err("interrupted while the launcher was starting a shell".to_owned())
            }
            Err(NoAnswer::Late) => Err(format!(
                "no shell answered through {launcher} within {} s{}",
                timeout.as_secs(),
                said(&launched.stderr.lines())
            )),
        }
    }

    /// Sends `input`, closes the script's standard input, and returns the script's output when it has ended. Blocks for at
    /// most `timeout`.
    ///
    /// # Errors
    /// Returns an error, without the name of the host, if the script fails or takes too long.
    pub(super) fn finish(
        self,
        input: Arc<[u8]>,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<String, String> {
        let Self {
            mut launched,
            mut stdin,
            mut stdout,
        } = self;
        // If the script does not read everything, it says why.
        thread::spawn(move || stdin.write_all(&input));
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut lines = Vec::new();
            while let Some(line) = bounded_line(&mut stdout, MAX_LINE_BYTES) {
                if lines.len() < MAX_LINES {
                    lines.push(line);
                }
            }
            let _ = sender.send(lines.join("\n"));
        });
        let output = receive(&receiver, timeout, interrupt).map_err(|why| match why {
            NoAnswer::Interrupted => "interrupted".to_owned(),
            NoAnswer::Ended | NoAnswer::Late => format!("did not finish within {} s", timeout.as_secs()),
        })?;
        match launched.wait() {
            Some(status) if status.success() => Ok(output),
            status => Err(launched.describe(status)),
        }
    }

    /// The worker that the script has become, which gets `assignment`. Its standard output is kept only if it writes
    /// records. The caller stops the launcher.
    pub(super) fn into_worker(self, assignment: Arc<[u8]>, writes_records: bool) -> Option<StartedWorker> {
        let Self {
            mut launched,
            stdin,
            stdout,
        } = self;
        Some(StartedWorker {
            child: launched.child.take()?,
            stdout: writes_records.then(|| Box::new(stdout) as Box<dyn Read + Send>),
            stderr: launched.stderr.clone(),
            input: Some(Input {
                stdin,
                first: assignment,
            }),
        })
    }
}

/// A launcher. It is killed when this value is dropped.
struct Launched {
    child: Option<Child>,
    stderr: StderrTail,
}

impl Launched {
    /// Waits briefly for the exit of a launcher that has closed its output.
    fn wait(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        let child = self.child.as_mut()?;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait().ok()? {
                return Some(status);
            }
            thread::sleep(TICK / 10);
        }
        None
    }

    /// How the launcher ended, with its standard error.
    fn describe(&self, status: Option<ExitStatus>) -> String {
        self.stderr.wait_for_end(EXIT_TIMEOUT);
        let end = match status {
            Some(status) => format!("ended with {status}"),
            None => "closed its output".to_owned(),
        };
        end + &said(&self.stderr.lines())
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Signaling a launcher that has exited fails because its process group no longer exists.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            thread::spawn(move || child.wait());
        }
    }
}

/// Why a wait ended without a value.
enum NoAnswer {
    /// The sender ended.
    Ended,
    /// This process received a signal.
    Interrupted,
    /// The timeout passed.
    Late,
}

/// Waits for a value for at most `timeout`.
fn receive<T>(receiver: &Receiver<T>, timeout: Duration, interrupt: &Interrupt) -> Result<T, NoAnswer> {
    let deadline = Instant::now() + timeout;
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Disconnected) => return Err(NoAnswer::Ended),
            Err(RecvTimeoutError::Timeout) if interrupt.is_signaled() => return Err(NoAnswer::Interrupted),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => return Err(NoAnswer::Late),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Reads lines until [`MARKER`]. Returns whether it was found.
fn skip_to_marker(reader: &mut BufReader<ChildStdout>) -> bool {
    (0..MAX_LINES)
        .map_while(|_| bounded_line(reader, MAX_LINE_BYTES))
        // The output of a shell's start files may not end with a newline.
        .any(|line| line.trim_end().ends_with(MARKER))
}

fn said(stderr: &str) -> String {
    match stderr.is_empty() {
        true => String::new(),
        false => format!(": {stderr}"),
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
        connection.finish(input.as_bytes().into(), TIMEOUT, &interrupt)
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
