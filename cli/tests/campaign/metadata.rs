//! The HTTP service `fabricbench metadata` with targets and initiators of `fabricbench-runner`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const PASSWORD: &str = "FABRICBENCH_METADATA_PASSWORD";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Running process whose output is read. It is killed when this value is dropped.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let _sent = stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line));
        });
        Self { child, lines }
    }

    fn wait_for_line(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(TIMEOUT).unwrap();
            if line.contains(text) {
                return line;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        assert!(status.success());
    }

    /// Sends a signal, waits for the process to exit, and returns its exit status and standard error.
    fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        let mut errors = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut errors)
            .unwrap();
        (status.code(), errors)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Starts the service and returns it with its address.
fn service(port: &str, password: Option<&str>) -> (Process, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
    command.args(["metadata", "--port", port]).env_remove(PASSWORD);
    if let Some(password) = password {
        command.env(PASSWORD, password);
    }
    let process = Process::start(&mut command);
    let line = process.wait_for_line("listening on ");
    let url = line.split([' ', ';']).nth(2).unwrap().to_owned();
    (process, url)
}

fn runner(role: &str, url: &str, password: Option<&str>) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_fabricbench")).with_file_name("fabricbench-runner");
    let mut command = Command::new(binary);
    command
        .args([
            role,
            "--metadata_type=http",
            &format!("--metadata_servers={url}"),
            "--provider=tcp",
        ])
        .args(["--threads=1", "--batch=2", "--size=4Ki", "--duration=1"])
        // A note on VRAM would follow on a machine without a GPU.
        .arg("--use-vram=false")
        .env_remove(PASSWORD);
    if let Some(password) = password {
        command.env(PASSWORD, password);
    }
    command
}

fn initiator(url: &str, password: Option<&str>, name: &str) -> Output {
    runner("initiator", url, password)
        .arg(format!("--remote_segment={name}"))
        .output()
        .unwrap()
}

fn target(url: &str, password: Option<&str>, more: &[&str]) -> Process {
    let process = Process::start(runner("target", url, password).args(more));
    process.wait_for_line("ready; ");
    process
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_segment_is_found_by_name_and_its_entry_is_removed() {
    let (service, url) = service("0", None);
    assert!(errors(&initiator(&url, None, "here")).contains("has no segment here"));
    let first = target(&url, None, &["--local_segment=here", "--metadata-ttl=3"]);
    let measured = initiator(&url, None, "here");
    assert!(measured.status.success(), "{measured:?}");
    let second = runner("target", &url, None)
        .arg("--local_segment=here")
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(3));
    assert!(
        errors(&second).contains("segment here is already published by run "),
        "{second:?}"
    );
    let (status, stderr) = first.stop("TERM");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert!(errors(&initiator(&url, None, "here")).contains("has no segment here"));
    let (status, stderr) = service.stop("INT");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_restarted_service_gets_the_entry_again() {
    let (first, url) = service("0", None);
    let target = target(&url, None, &["--local_segment=here", "--metadata-ttl=3"]);
    let port = url
        .rsplit_once(':')
        .unwrap()
        .1
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    drop(first);
    let lost = initiator(&url, None, "here");
    assert!(
        lost.status.code() == Some(3) && errors(&lost).contains("did not respond"),
        "{lost:?}"
    );
    let (_service, again) = service(&port, None);
    assert_eq!(again, url);
    let start = std::time::Instant::now();
    while !initiator(&url, None, "here").status.success() {
        assert!(start.elapsed() < TIMEOUT, "the segment is not published again");
    }
    assert_eq!(target.stop("TERM").0, Some(0));
}

#[test]
fn killing_the_service_does_not_end_a_session() {
    let (service, url) = service("0", None);
    let target = target(
        &url,
        None,
        &["--local_segment=here", "--metadata-ttl=3", "--duration=5"],
    );
    let running = runner("initiator", &url, None)
        .args(["--remote_segment=here", "--duration=5"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    target.wait_for_line("initiator 127.0.0.1:");
    drop(service);
    let measured = running.wait_with_output().unwrap();
    assert!(measured.status.success(), "{measured:?}");
    let lost = initiator(&url, None, "here");
    assert_eq!(lost.status.code(), Some(3), "{lost:?}");
    assert!(errors(&lost).contains("did not respond"), "{lost:?}");
    let (status, stderr) = target.stop("TERM");
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stderr.contains("the entry of segment here cannot be removed"),
        "{stderr}"
    );
}

#[test]
fn an_unresponsive_service_is_reported_within_the_timeout_and_the_segment_entry_expires() {
    let (service, url) = service("0", None);
    let target = target(&url, None, &["--local_segment=here", "--metadata-ttl=3"]);
    service.signal("STOP");
    let start = std::time::Instant::now();
    let late = initiator(&url, None, "here");
    assert_eq!(late.status.code(), Some(3), "{late:?}");
    assert!(errors(&late).contains("did not respond"), "{late:?}");
    let (status, stderr) = target.stop("TERM");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stderr.contains("the entry of segment here cannot be removed"),
        "{stderr}"
    );
    service.signal("CONT");
    let start = std::time::Instant::now();
    while !errors(&initiator(&url, None, "here")).contains("has no segment here") {
        assert!(start.elapsed() < TIMEOUT, "the entry does not expire");
    }
}

/// Opens a connection to the service and sends part of a request.
fn unfinished_request(url: &str) -> TcpStream {
    let address = url
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap_or_default();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"PUT /metadata?key=a HTTP/1.1\r\nContent-Length: 9\r\n\r\nx")
        .unwrap();
    stream
}

#[test]
fn an_unfinished_request_does_not_keep_the_service_running() {
    let (service, url) = service("0", None);
    let _unfinished = unfinished_request(&url);
    let start = Instant::now();
    let (status, stderr) = service.stop("TERM");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn second_signal_ends_the_service_immediately() {
    let (service, url) = service("0", None);
    let _unfinished = unfinished_request(&url);
    let start = Instant::now();
    service.signal("TERM");
    // Once the service no longer accepts connections, it has received the first signal.
    let address = url
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap_or_default()
        .to_owned();
    while TcpStream::connect(&address).is_ok() {
        assert!(start.elapsed() < TIMEOUT, "the service accepts connections");
        thread::sleep(Duration::from_millis(10));
    }
    let second = Instant::now();
    let (status, _) = service.stop("INT");
    assert_eq!(status, None, "the signal must end the process");
    assert!(
        second.elapsed() < Duration::from_secs(3),
        "{:?}",
        second.elapsed()
    );
}

#[test]
fn idle_clients_do_not_keep_others_out() {
    let (_service, url) = service("0", None);
    let _idle: Vec<TcpStream> = (0..100).map(|_| unfinished_request(&url)).collect();
    let start = Instant::now();
    while !errors(&initiator(&url, None, "here")).contains("has no segment here") {
        assert!(start.elapsed() < TIMEOUT, "the service does not respond");
    }
}

#[test]
fn a_wrong_password_is_refused() {
    let (_service, url) = service("0", Some("secret"));
    for password in [None, Some("wrong")] {
        let target = runner("target", &url, password)
            .arg("--local_segment=here")
            .output()
            .unwrap();
        for output in [target, initiator(&url, password, "here")] {
            assert_eq!(output.status.code(), Some(3), "{output:?}");
            assert!(errors(&output).contains("rejects the credentials"), "{output:?}");
        }
    }
    let target = target(&url, Some("secret"), &["--local_segment=here"]);
    let measured = initiator(&url, Some("secret"), "here");
    assert!(measured.status.success(), "{measured:?}");
    assert_eq!(target.stop("TERM"), (Some(0), String::new()));
}
