//! The operator as a child process.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::cluster::{until, until_within};

/// Maximum time to wait for an HTTP response of the operator.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum growth of the operator's resident memory, in KiB, between two times at which it has equally many runs. The operator
/// keeps the events of the last six minutes, which need 3 KiB for each run.
pub const MAX_GROWTH_KIB: u64 = 2048;

/// Sets the clock of a process, which is not running yet, `seconds` ahead. Its monotonic clock is not changed.
pub fn set_clock_ahead(command: &mut Command, seconds: i64) {
    let library = format!("/usr/lib/{ARCH}-linux-gnu/faketime/libfaketimeMT.so.1");
    assert!(
        Path::new(&library).is_file(),
        "{library} does not exist: install libfaketime"
    );
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME", format!("{seconds:+}"))
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
}

/// A running operator, which is killed when it is dropped.
pub struct Operator {
    process: Child,
    port: u16,
}

impl Operator {
    /// Starts the operator with `command` for the cluster in `kubeconfig`. Workers use `runner_image`.
    pub fn spawn(mut command: Command, kubeconfig: &Path, runner_image: &str, arguments: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let process = command
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

    /// Returns the HTTP response to `GET path`, including the status line; `None` if the server does not respond. The request
    /// has a bearer token if `token` is set.
    pub fn get(&self, path: &str, token: Option<&str>) -> Option<String> {
        get(self.port, path, token)
    }

    /// Like [`get`](Self::get), but the other tasks of the test, such as a proxy to the API server, continue meanwhile.
    pub async fn get_beside_tasks(&self, path: &str, token: Option<&str>) -> Option<String> {
        let (port, path, token) = (self.port, path.to_owned(), token.map(str::to_owned));
        let request = tokio::task::spawn_blocking(move || get(port, &path, token.as_deref()));
        request.await.ok()?
    }

    /// Waits until the operator is ready, either as the leader or as a standby replica.
    pub async fn ready(&self) {
        until(|| async {
            self.get("/readyz", None)?
                .starts_with("HTTP/1.1 200")
                .then_some(())
        })
        .await;
    }

    /// Returns the values of all fabricbench metrics, keyed by name and labels.
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let text = self.get("/metrics", None).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("fabricbench_"));
        let pairs = lines.filter_map(|line| line.rsplit_once(' '));
        pairs
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect()
    }

    /// Returns the value of one metric; 0 if it does not exist yet.
    pub fn metric(&self, name: &str) -> f64 {
        self.metrics().get(name).copied().unwrap_or(0.0)
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends the signal with the given name, such as `TERM`.
    pub fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the operator exits. Fails after `timeout`.
    pub async fn wait(&mut self, timeout: Duration) -> ExitStatus {
        let process = std::cell::RefCell::new(&mut self.process);
        until_within(timeout, || async { process.borrow_mut().try_wait().unwrap() }).await
    }

    /// Returns the number of open files, which includes connections.
    pub fn open_files(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.id())).unwrap();
        files.count()
    }

    /// Returns the value of a field in `/proc/PID/status`, in KiB: `VmRSS` for the resident memory, `VmHWM` for its
    /// maximum.
    pub fn memory_kib(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let mut lines = status.lines().filter_map(|text| text.split_once(':'));
        let (_, value) = lines.find(|(name, _)| *name == field).unwrap();
        value.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // libfaketime creates these files, and removes them only if the process exits by itself.
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let _ = fs::remove_file(format!("/dev/shm/{name}{}", self.process.id()));
        }
    }
}

fn get(port: u16, path: &str, token: Option<&str>) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).ok()?;
    let authorization = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: close\r\n\r\n"
    )
    .ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    Some(response)
}
