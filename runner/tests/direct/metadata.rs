//! Tests of segments that are found by name in real etcd and Redis servers, and of servers that are slow or send
//! invalid responses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::roles::{Output, Process, finish, runner};
use crate::segment::Target;

const PASSWORD: &str = "FABRICBENCH_METADATA_PASSWORD";
const SECRET: &str = "correct horse";

/// Kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Etcd,
    Redis,
}

/// Real server on 127.0.0.1. It is killed when this value is dropped.
struct Server {
    kind: Kind,
    port: u16,
    child: Child,
    command: Command,
    _data: TempDir,
}

impl Server {
    fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[])
    }

    fn start_with(kind: Kind, more: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (port, peer) = (free_port(), free_port());
        let directory = data.path().to_str().unwrap().to_owned();
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let mut command = match kind {
            Kind::Etcd => {
                let mut command = Command::new("etcd");
                command
                    .args(["--data-dir", &directory])
                    .args([
                        "--listen-client-urls",
                        &url(port),
                        "--advertise-client-urls",
                        &url(port),
                    ])
                    .args([
                        "--listen-peer-urls",
                        &url(peer),
                        "--initial-advertise-peer-urls",
                        &url(peer),
                    ])
                    .args(["--initial-cluster", &format!("default={}", url(peer))]);
                command
            }
            Kind::Redis => {
                let mut command = Command::new("redis-server");
                command
                    .args([
                        "--bind",
                        "127.0.0.1",
                        "--port",
                        &port.to_string(),
                        "--dir",
                        &directory,
                    ])
                    .args(["--save", "", "--appendonly", "no"]);
                command
            }
        };
        command.args(more).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self {
            kind,
            port,
            child: spawn(&mut command),
            command,
            _data: data,
        };
        server.wait();
        server
    }

    /// Kills the server. Its data and its port are retained.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again after [`Server::kill`].
    fn restart(&mut self) {
        self.child = spawn(&mut self.command);
        self.wait();
    }

    /// Waits until the server has no keys and no leases.
    fn wait_until_empty(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.key_and_lease_count() > 0 {
            assert!(Instant::now() < deadline, "{:?} is not empty", self.kind);
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the server responds.
    fn wait(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let response = match self.kind {
                Kind::Etcd => exchange(self.port, "GET /health HTTP/1.0\r\n\r\n"),
                Kind::Redis => exchange(self.port, "PING\r\nQUIT\r\n"),
            };
            match response {
                Ok(text) if text.contains("PONG") || text.contains("true") || text.contains("NOAUTH") => {
                    return;
                }
                response => assert!(Instant::now() < deadline, "{:?}: {response:?}", self.kind),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Flags for a target or an initiator.
    fn flags(&self) -> [String; 4] {
        let kind = match self.kind {
            Kind::Etcd => "etcd",
            Kind::Redis => "redis",
        };
        [
            "--metadata_type".to_owned(),
            kind.to_owned(),
            "--metadata_servers".to_owned(),
            format!("127.0.0.1:{}", self.port),
        ]
    }

    /// Calls an etcd method.
    fn etcd(&self, method: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST /v3/{method} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let response = exchange(self.port, &request).unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {response}"))
    }

    /// Number of keys and leases.
    fn key_and_lease_count(&self) -> usize {
        match self.kind {
            Kind::Etcd => {
                let all = json!({"key": STANDARD.encode([0]), "range_end": STANDARD.encode([0])});
                let count = |list: &Value| list.as_array().map_or(0, Vec::len);
                let keys = self.etcd("kv/range", &all);
                let leases = self.etcd("lease/leases", &json!({}));
                count(&keys["kvs"]) + count(&leases["leases"])
            }
            Kind::Redis => {
                let response = exchange(self.port, "DBSIZE\r\nQUIT\r\n").unwrap();
                let count = response.trim_start_matches(':').split("\r\n").next().unwrap();
                count.parse().unwrap()
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Child {
    let spawned = command.spawn();
    spawned.unwrap_or_else(|error| panic!("{command:?}: {error}; install it with .ci/setup test"))
}

/// Sends `request` and reads until the server closes the connection.
fn exchange(port: u16, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

const SHORT: [&str; 10] = [
    "--provider",
    "tcp",
    "--threads",
    "1",
    "--batch",
    "2",
    "--size",
    "4Ki",
    "--duration",
    "1",
];

fn target(server: &Server, more: &[&str]) -> Target {
    let flags = server.flags();
    let flags = flags.iter().map(String::as_str);
    Target::start(&flags.chain(SHORT).chain(more.iter().copied()).collect::<Vec<_>>())
}

fn failing_target(server: &Server, more: &[&str]) -> Output {
    finish(runner().arg("target").args(server.flags()).args(SHORT).args(more))
}

fn initiator(server: &Server, name: &str) -> Output {
    finish(
        runner()
            .args(["initiator", "--remote_segment", name])
            .args(server.flags())
            .args(SHORT),
    )
}

fn kill(process: u32, signal: &str) {
    let status = Command::new("kill")
        .args(["-s", signal, &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn a_segment_is_found_by_name_and_nothing_is_left(kind: Kind) {
    let server = Server::start(kind);
    let name = "node-1.segment";
    let missing = initiator(&server, name);
    assert_eq!(missing.status.code(), Some(3), "{missing:?}");
    assert!(
        missing.stderr.contains("has no segment node-1.segment"),
        "{missing:?}"
    );
    // Without this flag, the target reports whether the segment has VRAM.
    let dram = "--use-vram=false";
    let target = target(&server, &["--local_segment", name, "--metadata-ttl", "3", dram]);
    assert_eq!(target.segment, name);
    assert!(server.key_and_lease_count() > 0);
    let measured = target.initiator(&[]);
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    // The entry is renewed: it still exists after its first lifetime.
    thread::sleep(Duration::from_secs(5));
    let again = target.initiator(&[]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let taken = failing_target(&server, &["--local_segment", name]);
    assert_eq!(taken.status.code(), Some(3), "{taken:?}");
    assert!(
        taken
            .stderr
            .contains("segment node-1.segment is already published by run "),
        "{taken:?}"
    );
    let output = target.stop("TERM");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stderr, "", "{output:?}");
    assert_eq!(server.key_and_lease_count(), 0);
}

#[test]
fn a_segment_is_found_by_name_in_etcd() {
    a_segment_is_found_by_name_and_nothing_is_left(Kind::Etcd);
}

#[test]
fn a_segment_is_found_by_name_in_redis() {
    a_segment_is_found_by_name_and_nothing_is_left(Kind::Redis);
}

fn the_entry_of_a_killed_target_is_rejected_and_expires(kind: Kind) {
    let server = Server::start(kind);
    let killed = target(&server, &["--local_segment", "old", "--metadata-ttl", "30"]);
    let port = killed.port();
    killed.stop("KILL");
    // A new run at the same address does not serve an initiator that expects the old run.
    let other = target(&server, &["--local_segment", "new", "--port", &port.to_string()]);
    let refused = initiator(&server, "old");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("--remote-segment names segment old of run ")
            && refused.stderr.contains("stale"),
        "{refused:?}"
    );
    other.stop("TERM");
    assert!(server.key_and_lease_count() > 0);
    let short = target(&server, &["--local_segment", "short", "--metadata-ttl", "3"]);
    short.stop("KILL");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !initiator(&server, "short")
        .stderr
        .contains("has no segment short")
    {
        assert!(Instant::now() < deadline, "the entry did not expire");
    }
}

#[test]
fn the_entry_of_a_killed_target_is_rejected_in_etcd() {
    the_entry_of_a_killed_target_is_rejected_and_expires(Kind::Etcd);
}

#[test]
fn the_entry_of_a_killed_target_is_rejected_in_redis() {
    the_entry_of_a_killed_target_is_rejected_and_expires(Kind::Redis);
}

fn a_killed_server_does_not_end_the_session(kind: Kind) {
    let mut server = Server::start(kind);
    let target = target(
        &server,
        &[
            "--local_segment",
            "here",
            "--metadata-ttl",
            "3",
            "--duration",
            "5",
        ],
    );
    let initiator = Process::start(runner().args(&target.command));
    target.wait_for_line("initiator 127.0.0.1:");
    server.kill();
    let measured = initiator.finish();
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    target.wait_for_line("ready; ");
    let lost = self::initiator(&server, "here");
    assert_eq!(lost.status.code(), Some(3), "{lost:?}");
    assert!(
        lost.stderr
            .contains(&format!("127.0.0.1:{} did not respond", server.port)),
        "{lost:?}"
    );
    let output = target.stop("INT");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        output
            .stderr
            .contains("the entry of segment here cannot be renewed"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("the entry of segment here cannot be removed"),
        "{output:?}"
    );
    // An entry that the target could not remove expires.
    server.restart();
    server.wait_until_empty();
}

/// The server is real, but does not respond for some time.
fn a_stopped_server_is_reported_and_nothing_is_left(kind: Kind) {
    let server = Server::start(kind);
    let target = target(&server, &["--local_segment", "here", "--metadata-ttl", "3"]);
    kill(server.child.id(), "STOP");
    let start = Instant::now();
    let late = initiator(&server, "here");
    assert_eq!(late.status.code(), Some(3), "{late:?}");
    assert!(
        late.stderr
            .contains(&format!("127.0.0.1:{} did not respond", server.port)),
        "{late:?}"
    );
    // The target can exit without the service.
    let output = target.stop("TERM");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        output
            .stderr
            .contains("the entry of segment here cannot be removed"),
        "{output:?}"
    );
    kill(server.child.id(), "CONT");
    server.wait_until_empty();
    let missing = initiator(&server, "here");
    assert!(missing.stderr.contains("has no segment here"), "{missing:?}");
}

#[test]
fn a_stopped_etcd_is_reported_and_nothing_is_left() {
    a_stopped_server_is_reported_and_nothing_is_left(Kind::Etcd);
}

#[test]
fn a_stopped_redis_is_reported_and_nothing_is_left() {
    a_stopped_server_is_reported_and_nothing_is_left(Kind::Redis);
}

/// Tests a value that is not an entry, such as the value of another application that uses the same key.
fn an_unknown_value_is_reported_and_retained(kind: Kind) {
    let server = Server::start(kind);
    let key = "fabricbench/segment/here";
    match kind {
        Kind::Etcd => {
            let value = STANDARD.encode("no entry");
            server.etcd("kv/put", &json!({"key": STANDARD.encode(key), "value": value}));
        }
        Kind::Redis => {
            let response = exchange(server.port, &format!("SET {key} invalid\r\nQUIT\r\n")).unwrap();
            assert!(response.starts_with("+OK"), "{response}");
        }
    }
    for output in [
        initiator(&server, "here"),
        failing_target(&server, &["--local_segment", "here"]),
    ] {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(
            output.stderr.contains("sent an unexpected response"),
            "{output:?}"
        );
    }
    assert_eq!(server.key_and_lease_count(), 1);
}

#[test]
fn an_unknown_value_in_etcd_is_reported_and_retained() {
    an_unknown_value_is_reported_and_retained(Kind::Etcd);
}

#[test]
fn an_unknown_value_in_redis_is_reported_and_retained() {
    an_unknown_value_is_reported_and_retained(Kind::Redis);
}

#[test]
fn a_killed_etcd_does_not_end_the_session() {
    a_killed_server_does_not_end_the_session(Kind::Etcd);
}

#[test]
fn a_killed_redis_does_not_end_the_session() {
    a_killed_server_does_not_end_the_session(Kind::Redis);
}

/// Publishes with the password, and checks that the target and the initiator report other credentials as rejected.
fn check_credentials(server: &Server) {
    let run = |role: &str, user: Option<&str>, password: Option<&str>| {
        let mut command = runner();
        command.arg(role).args(server.flags()).args(SHORT);
        // A note on VRAM would follow on a machine without a GPU.
        command.arg("--use-vram=false");
        command.args([
            if role == "target" {
                "--local_segment"
            } else {
                "--remote_segment"
            },
            "here",
        ]);
        command.args(user.map(|user| ["--metadata-user", user]).into_iter().flatten());
        if let Some(password) = password {
            command.env(PASSWORD, password);
        }
        command
    };
    let user = (server.kind == Kind::Etcd).then_some("root");
    for (user, password) in [(None, None), (user, Some("wrong"))] {
        for role in ["target", "initiator"] {
            let output = finish(&mut run(role, user, password));
            assert_eq!(output.status.code(), Some(3), "{output:?}");
            assert!(
                output.stderr.contains("rejects the credentials") && !output.stderr.contains(SECRET),
                "{output:?}"
            );
        }
    }
    let target = Process::start(&mut run("target", user, Some(SECRET)));
    target.wait_for_line("ready; ");
    let measured = finish(&mut run("initiator", user, Some(SECRET)));
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    kill(target.id(), "TERM");
    let output = target.finish();
    assert_eq!(
        (output.status.code(), output.stderr.as_str()),
        (Some(0), ""),
        "{output:?}"
    );
}

#[test]
fn redis_rejects_wrong_credentials() {
    check_credentials(&Server::start_with(Kind::Redis, &["--requirepass", SECRET]));
}

#[test]
fn etcd_rejects_wrong_credentials() {
    let server = Server::start(Kind::Etcd);
    server.etcd("auth/user/add", &json!({"name": "root", "password": SECRET}));
    server.etcd("auth/role/add", &json!({"name": "root"}));
    server.etcd("auth/user/grant", &json!({"user": "root", "role": "root"}));
    server.etcd("auth/enable", &json!({}));
    check_credentials(&server);
}

/// Runs an initiator with each kind of service, against a server with the given behavior, and returns the errors and
/// the elapsed times.
fn with_server(behavior: fn(TcpStream)) -> Vec<(String, Duration)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || behavior(stream));
        }
    });
    let error = |kind: &&str| {
        let start = Instant::now();
        let mut command = runner();
        command
            .args(["initiator", "--remote-segment", "here", "--metadata-type", kind])
            .args(["--metadata-servers", &server])
            .args(SHORT);
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        (format!("{kind}: {}", output.stderr), start.elapsed())
    };
    ["etcd", "redis", "http"].iter().map(error).collect()
}

#[test]
fn a_server_that_never_responds_is_reported_within_the_timeout() {
    let never = |stream: TcpStream| {
        thread::sleep(Duration::from_secs(60));
        drop(stream);
    };
    for (error, elapsed) in with_server(never) {
        assert!(error.contains("did not respond"), "{error}");
        assert!(elapsed < Duration::from_secs(20), "{elapsed:?} {error}");
    }
}

/// Sends `head` and then a byte every 200 ms, so that every single read is short.
fn trickle(mut stream: TcpStream, head: &[u8]) {
    let mut request = [0; 1024];
    let _read = stream.read(&mut request);
    let _written = stream.write_all(head);
    for _ in 0..600 {
        if stream.write_all(b"1").is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_trickling_server_is_reported_within_the_timeout() {
    // These are the starts of long responses: `string` from Redis, and `body` from an HTTP server.
    let string = |stream| trickle(stream, b"$16000\r\n");
    let body = |stream| trickle(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n\r\n");
    for behavior in [string as fn(TcpStream), body] {
        for (error, elapsed) in with_server(behavior) {
            assert!(elapsed < Duration::from_secs(20), "{elapsed:?} {error}");
            assert!(
                error.contains("did not respond") || error.contains("sent an unexpected response"),
                "{error}"
            );
        }
    }
}

#[test]
fn the_response_length_is_limited() {
    let long = |mut stream: TcpStream| {
        let mut request = [0; 1024];
        let _read = stream.read(&mut request);
        let _written = stream.write_all(b"$2000000000\r\n");
        while stream.write_all(&[b'1'; 65_536]).is_ok() {}
    };
    for (error, elapsed) in with_server(long) {
        assert!(error.contains("sent an unexpected response"), "{error}");
        assert!(elapsed < Duration::from_secs(20), "{elapsed:?} {error}");
    }
}

#[test]
fn an_invalid_response_is_reported() {
    let invalid_answer = |mut stream: TcpStream| {
        let mut request = [0; 1024];
        let _read = stream.read(&mut request);
        let _written = stream.write_all(b"220 mail.example ESMTP\r\n");
        // If the server closes the connection with unread data, the client may see a reset instead of the response.
        let _sent = stream.shutdown(std::net::Shutdown::Write);
        let _rest = std::io::copy(&mut stream, &mut std::io::sink());
    };
    for (error, _) in with_server(invalid_answer) {
        assert!(error.contains("sent an unexpected response"), "{error}");
    }
    let not_an_entry = |mut stream: TcpStream| {
        let mut request = [0; 1024];
        let _read = stream.read(&mut request);
        let _written = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]");
    };
    for (error, _) in with_server(not_an_entry) {
        assert!(error.contains("sent an unexpected response"), "{error}");
    }
}

#[test]
fn a_port_without_a_server_is_reported() {
    let server = format!("127.0.0.1:{}", free_port());
    for kind in ["etcd", "redis", "http"] {
        let mut command = runner();
        command
            .args(["target", "--local-segment", "here", "--metadata-type", kind])
            .args(["--metadata-servers", &server])
            .args(SHORT);
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(
            output.stderr.contains(&format!("{server} did not respond")),
            "{output:?}"
        );
    }
}
