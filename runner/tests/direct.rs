//! Tests of the `serve`, `connect` and `loopback` roles, which run as processes over 127.0.0.1 and shared memory.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helper functions of a test may panic"
)]

#[path = "direct/metadata.rs"]
mod metadata;
#[path = "rails/namespaces.rs"]
mod namespaces;
#[path = "direct/results.rs"]
mod results;
#[path = "direct/roles.rs"]
mod roles;
#[path = "direct/segment.rs"]
mod segment;
#[path = "direct/suites.rs"]
mod suites;

mod errors {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use crate::roles::{Server, finish, runner};

    fn error_of(arguments: &[&str], status: i32) -> String {
        let output = finish(runner().args(arguments));
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        output.stderr
    }

    #[test]
    fn invalid_flags_are_reported_with_a_fix() {
        let loopback = |more: &[&str]| error_of(&[&["loopback"], more].concat(), 2);
        let unknown = loopback(&["--tls", "sm", "--scenarios", "large-aray"]);
        assert!(
            unknown.contains("large-aray") && unknown.contains("large-array, small-messages"),
            "{unknown}"
        );
        let unknown = loopback(&["--tls", "smm"]);
        assert!(
            unknown.contains("\"smm\"") && unknown.contains("use all,tcp,sm,posix"),
            "{unknown}"
        );
        let empty = loopback(&["--tls", "sm", "--large-bytes", "0"]);
        assert!(
            empty.contains("--large-bytes must be between 1 byte and 1Gi"),
            "{empty}"
        );
        let both = loopback(&["--tls", "sm", "--provider", "tcp"]);
        assert!(both.contains("cannot be used with"), "{both}");
        let trace = loopback(&["--tls", "sm", "--store-trace"]);
        assert!(trace.contains("--output"), "{trace}");
        let twice = loopback(&["--tls", "sm", "--scenarios", "all", "large-array"]);
        assert!(twice.contains("contains large-array twice"), "{twice}");
    }

    #[test]
    fn an_output_that_cannot_be_written_is_reported_before_the_measurement() {
        let error = error_of(
            &["loopback", "--tls", "sm", "--output", "/nowhere/results.json"],
            3,
        );
        assert!(error.contains("cannot write /nowhere/results.json"), "{error}");
        assert!(!error.contains("measured"), "{error}");
    }

    /// UCX reads `ucx.conf` from the working directory and from the home directory, but each instrument has a separate
    /// working directory.
    #[test]
    fn a_configuration_file_in_the_working_directory_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ucx.conf"), "UCX_RNDV_THRESH=many\n").unwrap();
        let empty = tempfile::tempdir().unwrap();
        let small = [
            "loopback",
            "--tls",
            "sm",
            "--scenarios",
            "pingpong-flag",
            "--flag-iterations",
            "10",
        ];
        let run = |working: &std::path::Path, home: &std::path::Path| {
            finish(runner().args(small).current_dir(working).env("HOME", home))
        };
        let output = run(directory.path(), empty.path());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        // UCX would reject this file.
        let output = run(empty.path(), directory.path());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }

    #[test]
    fn a_port_without_a_server_is_reported_with_a_fix() {
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let port = free.to_string();
        let error = error_of(
            &[
                "connect",
                "--tls",
                "tcp",
                "--connect-timeout",
                "0",
                "--port",
                &port,
            ],
            3,
        );
        assert!(
            error.contains("cannot connect to 127.0.0.1") && error.contains("fabricbench-runner serve"),
            "{error}"
        );
    }

    #[test]
    fn another_program_on_the_port_is_reported() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let response = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"SSH-2.0-OpenSSH\n").unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line
        });
        let error = error_of(&["connect", "--tls", "tcp", "--port", &port], 3);
        assert!(
            error.contains("did not send a valid response from fabricbench-runner")
                && !error.contains("line 1 column"),
            "{error}"
        );
        assert!(
            response
                .join()
                .unwrap()
                .contains("\"program\":\"fabricbench-runner\"")
        );
    }

    #[test]
    fn an_address_in_use_is_reported_with_a_fix() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let error = error_of(&["serve", "--port", &port], 3);
        assert!(
            error.contains("cannot listen on 127.0.0.1") && error.contains("--port"),
            "{error}"
        );
    }

    /// Sends `message` to the server and returns its response.
    fn response_to(server: &Server, message: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.write_all(message).unwrap();
        let mut response = String::new();
        BufReader::new(stream).read_line(&mut response).unwrap();
        response
    }

    fn connect<'a>(port: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["connect", "--port", port], more].concat()
    }

    #[test]
    fn rejected_clients_do_not_end_the_server() {
        let server = Server::start(&["--tls", "tcp", "--max-bytes", "1Mi"]);
        assert!(response_to(&server, b"GET / HTTP/1.1\n").contains("\"NotARequest\""));
        // A line that never ends is rejected at the size limit.
        assert!(response_to(&server, &vec![b'x'; 200_000]).contains("exceeds the limit"));
        let other =
            b"{\"program\":\"fabricbench-runner\",\"version\":\"99.1\",\"protocol\":9,\"request\":{}}\n";
        let response = response_to(&server, other);
        assert!(
            response.contains("\"VersionMismatch\"") && response.contains("99.1"),
            "{response}"
        );
        // What the server prints of a message contains nothing that a terminal obeys.
        let version = env!("CARGO_PKG_VERSION");
        let protocol = fabricbench_runner::rendezvous::message::PROTOCOL_VERSION;
        let hidden = format!(
            "{{\"program\":\"fabricbench-runner\",\"version\":\"{version}\",\"protocol\":{protocol},\
             \"request\":{{\"\\u001b[2J\":1}}}}\n"
        );
        assert!(response_to(&server, hidden.as_bytes()).contains("\"InvalidRequest\""));
        // This client disconnects without sending a request.
        drop(TcpStream::connect(("127.0.0.1", server.port)).unwrap());

        let port = server.port.to_string();
        let error = error_of(&connect(&port, &["--provider", "tcp"]), 2);
        assert!(
            error.contains("`--provider tcp`, but the server uses `--tls tcp`"),
            "{error}"
        );
        let error = error_of(
            &connect(&port, &["--tls", "tcp", "--scenarios", "large-array"]),
            2,
        );
        assert!(
            error.contains("size of large-array is 1Gi: choose a size from 1 to 1Mi"),
            "{error}"
        );

        let flags = [
            "--tls",
            "tcp",
            "--scenarios",
            "pingpong-flag",
            "--flag-iterations",
            "10",
        ];
        let output = finish(runner().args(connect(&port, &flags)));
        assert!(output.status.success(), "{output:?}");
        let server = server.finish();
        assert_eq!(server.status.code(), Some(0), "{server:?}");
        for reason in ["NotARequest", "VersionMismatch", "InvalidRequest"] {
            assert!(server.stderr.contains(reason), "{server:?}");
        }
        assert!(!server.stderr.contains(['\u{1b}']), "{server:?}");
        assert!(!server.stderr.contains("panicked"), "{server:?}");
    }
}

mod interruptions {
    use rustix::process::{Pid, Signal, kill_process};

    use crate::roles::{Process, Server, runner};

    fn signal(process: u32, signal: Signal) {
        kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
    }

    #[test]
    fn a_signal_ends_a_waiting_server_with_status_0() {
        for stop in [Signal::INT, Signal::TERM] {
            let server = Server::start(&[]);
            signal(server.id(), stop);
            let output = server.finish();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert!(output.stdout.contains("before a client connected"), "{output:?}");
        }
    }

    /// Arguments of a client whose measurement takes much longer than the test.
    const LONG: [&str; 8] = [
        "connect",
        "--tls",
        "tcp",
        "--scenarios",
        "pingpong-flag",
        "--flag-iterations",
        "1000000",
        "--no-integrity",
    ];

    fn start_long(server: &Server) -> Process {
        let client = Process::start(runner().args(LONG).args(["--port", &server.port.to_string()]));
        server.wait_for_line("client 127.0.0.1:");
        client
    }

    #[test]
    fn the_server_ends_if_the_client_is_killed() {
        let server = Server::start(&[]);
        let client = start_long(&server);
        signal(client.id(), Signal::KILL);
        client.finish();
        let output = server.finish();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(output.stderr.contains("connection"), "{output:?}");
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }

    #[test]
    fn both_sides_end_if_the_server_receives_a_signal() {
        let server = Server::start(&[]);
        let client = start_long(&server);
        // An earlier signal would end the server before the client's session.
        server.wait_for_child();
        signal(server.id(), Signal::INT);
        let output = server.finish();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let client = client.finish();
        assert_eq!(client.status.code(), Some(3), "{client:?}");
        assert!(
            client.stderr.contains("PeerLost") || client.stderr.contains("Interrupted"),
            "{client:?}"
        );
    }

    #[test]
    fn the_time_limit_ends_a_session() {
        let server = Server::start(&["--time-limit", "1"]);
        let client = start_long(&server);
        let output = server.finish();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(output.stderr.contains("--time-limit"), "{output:?}");
        assert_eq!(client.finish().status.code(), Some(3));
    }
}
