//! The operator as a process.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::cluster::until;

/// A running operator; dropping it kills it.
pub struct Operator {
    process: Child,
    port: u16,
}

impl Operator {
    /// Starts `program` as an operator of the cluster of `kubeconfig`, whose workers have `runner_image`.
    pub fn spawn(mut program: Command, kubeconfig: &Path, runner_image: &str, arguments: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = program
            .arg("operator")
            .args(arguments)
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(["--runner-image", runner_image])
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, port }
    }

    /// What `path` answers: status line and body; nothing while nobody answers.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// Waits until it acts, or waits for its turn.
    pub async fn ready(&self) {
        until(|| async { self.get("/readyz")?.starts_with("HTTP/1.1 200").then_some(()) }).await;
    }

    /// Its metrics that are plain numbers, by name with labels.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let text = self.get("/metrics").unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("fabricbench_"));
        let pairs = lines.filter_map(|line| line.rsplit_once(' '));
        pairs
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect()
    }

    /// One metric; 0 where it was not counted yet.
    pub fn metric(&self, name: &str) -> f64 {
        self.metrics().get(name).copied().unwrap_or(0.0)
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub async fn end(&mut self) -> ExitStatus {
        let process = std::cell::RefCell::new(&mut self.process);
        until(|| async { process.borrow_mut().try_wait().unwrap() }).await
    }

    /// A line of `/proc/PID/status` that is in KiB: `VmRSS` is what is resident, `VmHWM` the most that ever was.
    pub fn memory_kib(&self, line: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let mut lines = status.lines().filter_map(|text| text.split_once(':'));
        let (_, value) = lines.find(|(name, _)| *name == line).unwrap();
        value.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
