//! The program under test, as a process.

use std::collections::BTreeMap;
use std::fs::File;
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
    /// Starts one for `namespace`, whose Lease is there as well.
    pub fn start(kubeconfig: &Path, namespace: &str) -> Self {
        Self::start_with(kubeconfig, namespace, &["--lease-namespace", namespace])
    }

    /// Starts one that acts at once: no other will run beside it.
    pub fn start_alone(kubeconfig: &Path, namespace: &str) -> Self {
        Self::start_with(kubeconfig, namespace, &["--no-leader-election"])
    }

    fn start_with(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Self {
        let arguments = [&["--namespace", namespace], arguments].concat();
        Self::spawn(kubeconfig, "example.test/runner:1", &arguments)
    }

    /// Starts one with `arguments`.
    pub fn spawn(kubeconfig: &Path, runner_image: &str, arguments: &[&str]) -> Self {
        Self::started(kubeconfig, runner_image, arguments, |command| {
            command.env("RUST_LOG", "info,fabricbench_operator=debug")
        })
    }

    /// Starts one whose log is written to `log`: what it says to people, without what is for debugging.
    pub fn logged(kubeconfig: &Path, runner_image: &str, arguments: &[&str], log: &Path) -> Self {
        let log = File::create(log).unwrap();
        Self::started(kubeconfig, runner_image, arguments, |command| {
            command.env_remove("RUST_LOG").stderr(log)
        })
    }

    fn started(
        kubeconfig: &Path,
        runner_image: &str,
        arguments: &[&str],
        log: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
        command
            .arg("operator")
            .args(arguments)
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(["--runner-image", runner_image])
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null());
        let process = log(&mut command).spawn().unwrap();
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

    /// Resident memory in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
