//! Starts the runner and reads its output.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::namespaces::Namespaces;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Command that starts the runner, without the variables that select a transport. The client roles start the `fabricbench`
/// in its directory.
pub fn runner() -> Command {
    let fabricbench = Path::new(env!("CARGO_BIN_EXE_fabricbench-runner")).with_file_name("fabricbench");
    assert!(
        fabricbench.is_file(),
        "{} does not exist; run cargo build -p fabricbench-cli",
        fabricbench.display()
    );
    without_transport(Command::new(env!("CARGO_BIN_EXE_fabricbench-runner")))
}

/// Command that starts the runner in the network namespace of `side`, without the variables that select a transport.
pub fn runner_in(namespaces: &Namespaces, side: usize) -> Command {
    without_transport(namespaces.runner(side))
}

fn without_transport(mut command: Command) -> Command {
    command.env_remove("UCX_TLS").env_remove("FI_PROVIDER");
    command
}

/// Output of a process that has exited.
#[derive(Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `command` until it exits.
pub fn finish(command: &mut Command) -> Output {
    Process::start(command).finish()
}

/// Running process. It is killed when this value is dropped.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Process {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Self {
            child,
            lines,
            stderr: Some(stderr),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that contains `text`, and returns it.
    pub fn wait_for_line(&self, text: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let line = self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|error| panic!("no line with {text:?}: {error}"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Waits until the process has a child: the instrument of a session.
    pub fn wait_for_child(&self) {
        let deadline = Instant::now() + TIMEOUT;
        while !has_child(self.id()) {
            assert!(Instant::now() < deadline, "the process started no instrument");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the process exits.
    pub fn finish(mut self) -> Output {
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() >= deadline => panic!("the process did not exit"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        Output {
            status,
            stdout: self.lines.iter().map(|line| line + "\n").collect(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

/// Whether a thread of `process` has started a process that still exists.
fn has_child(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    threads.map_while(Result::ok).any(|thread| {
        // A thread that has ended has no children any more.
        let children = fs::read_to_string(thread.path().join("children"));
        children.is_ok_and(|children| !children.is_empty())
    })
}

impl Drop for Process {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Server that waits for a client on 127.0.0.1.
pub struct Server {
    process: Process,
    pub port: u16,
}

impl Server {
    pub fn start(flags: &[&str]) -> Self {
        Self::start_as(&mut runner(), flags)
    }

    /// Starts the server, which serves one client and exits, with `command`, which runs the binary, for example in a
    /// network namespace.
    pub fn start_as(command: &mut Command, flags: &[&str]) -> Self {
        let process = Process::start(
            command
                .args(["serve", "--port", "0", "--clients", "1"])
                .args(flags),
        );
        let line = process.wait_for_line("listening on ");
        let address = line.split_whitespace().nth(2).unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        Self { process, port }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn wait_for_child(&self) {
        self.process.wait_for_child();
    }

    pub fn wait_for_line(&self, text: &str) -> String {
        self.process.wait_for_line(text)
    }

    pub fn finish(self) -> Output {
        self.process.finish()
    }
}
