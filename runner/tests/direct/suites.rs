//! Commands as the documentation of the Starway benchmark suite and of the Transfer Engine Benchmark prints them, with
//! only the program's name changed, and smaller sizes and durations where the defaults take long.

use serde_json::Value;

use crate::roles::{Output, Process, finish, runner};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The JSON summary that a client prints.
fn summary(output: &Output) -> Value {
    let (_, json) = output
        .stdout
        .split_once("JSON summary:\n")
        .unwrap_or_else(|| panic!("{output:?}"));
    serde_json::from_str(json).unwrap()
}

/// Port on which `process` listens.
fn port(process: &Process) -> String {
    let line = process.wait_for_line("listening on ");
    line.split_whitespace()
        .nth(2)
        .unwrap()
        .rsplit_once(':')
        .unwrap()
        .1
        .to_owned()
}

const SMALL: &str = "--large-bytes 1M --stream-bytes 64K --stream-iterations 16 --flag-iterations 200";

#[test]
fn the_roles_of_starway_measure_all_scenarios_and_print_a_json_summary() {
    let server =
        Process::start(runner().args(words("starway --role server --addr 0.0.0.0 --port 0 --tls tcp")));
    let port = port(&server);
    let line = format!(
        "starway --role client --server-host 127.0.0.1 --port {port} --tls tcp --scenarios all {SMALL}"
    );
    // The server serves one client after another.
    for _ in 0..2 {
        let output = finish(runner().args(words(&line)));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let summary = summary(&output);
        let results = summary["results"].as_array().unwrap();
        assert_eq!(results.len(), 4, "{summary}");
        assert_eq!(results[0]["sizeBytes"], 1 << 20);
        let duplex = &results[3]["values"];
        assert!(duplex["pingLoadedP99Nanos"].is_number(), "{duplex}");
        server.wait_for_line("the client has finished");
    }
}

#[test]
fn loopback_without_a_transport_uses_all_transports_of_ucx() {
    let output = finish(runner().args(words(
        "starway --role loopback --scenarios pingpong-flag --flag-iterations 50",
    )));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.contains("using --tls all"), "{output:?}");
    assert_eq!(summary(&output)["results"][0]["scenarioName"], "pingpong-flag");
    assert!(output.stdout.contains("(all)"), "{output:?}");
    for tls in ["posix", "all", "posix,cma"] {
        let line = format!("loopback --tls {tls} --scenarios pingpong-flag --flag-iterations 50");
        let output = finish(runner().args(words(&line)));
        assert_eq!(output.status.code(), Some(0), "{tls}: {output:?}");
    }
    // No RDMA device: the message names the transport.
    let output = finish(runner().args(words("loopback --tls rc_x --scenarios pingpong-flag")));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(
        (output.stdout.clone() + &output.stderr).contains("rc_x"),
        "{output:?}"
    );
}

#[test]
fn a_variable_that_names_devices_is_respected_or_reported() {
    let small = words("loopback --tls tcp --scenarios pingpong-flag --flag-iterations 50");
    let output = finish(runner().args(&small).env("UCX_NET_DEVICES", "lo"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = finish(
        runner()
            .args(&small)
            .args(["--device", "lo"])
            .env("UCX_NET_DEVICES", "eth77"),
    );
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let all = output.stdout + &output.stderr;
    assert!(
        all.contains("UCX_NET_DEVICES=eth77") && all.contains("--device"),
        "{all}"
    );
}

#[test]
fn a_worker_address_is_copied_from_the_server_to_the_client() {
    let server = Process::start(runner().args(words(
        "starway --role server --port 0 --addr 127.0.0.1 --listen-mode worker --tls sm",
    )));
    let line = server.wait_for_line("worker address: ");
    let address = line.split_whitespace().nth(2).unwrap();
    let client = |address: &str| {
        let line = format!(
            "starway --role client --connect-mode worker --worker-address {address} --tls sm --scenarios pingpong-flag \
             --flag-iterations 50"
        );
        finish(runner().args(words(&line)))
    };
    let output = client(address);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = client(&address[..address.len() - 2]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        output.stderr.contains("--worker-address is not an address"),
        "{output:?}"
    );
    let output = finish(runner().args(words("connect --connect-mode worker")));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_second_client_waits_until_the_first_has_finished() {
    let server = Process::start(runner().args(words("serve --port 0 --clients 2")));
    let port = port(&server);
    let connect = |iterations: &str, wait: &str| {
        let line = format!(
            "connect --tls tcp --port {port} --scenarios pingpong-flag --no-integrity --flag-iterations {iterations} \
             --connect-timeout {wait}"
        );
        let mut command = runner();
        command.args(words(&line));
        command
    };
    let first = Process::start(&mut connect("100000", "10"));
    server.wait_for_line("client 127.0.0.1:");
    let refused = finish(&mut connect("10", "0"));
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("(Busy)") && refused.stderr.contains("--connect-timeout"),
        "{refused:?}"
    );
    let second = finish(&mut connect("10", "100"));
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    assert!(second.stderr.contains("waiting up to 100 s"), "{second:?}");
    assert_eq!(first.finish().status.code(), Some(0));
    assert_eq!(server.finish().status.code(), Some(0));
}

#[test]
fn the_example_of_the_transfer_engine_benchmark_works_as_printed() {
    let target = Process::start(runner().arg("transfer-engine"));
    let segment = format!("127.0.0.1:{}", port(&target));
    target.wait_for_line("ready; ");
    // The target has 4 threads.
    for line in [
        format!(
            "transfer-engine --remote_segment={segment} --workload=mix --integrity_check --threads=8 --duration=1"
        ),
        format!(
            "transfer-engine -remote_segment {segment} --nointegrity_check --threads 1 -duration=1 --report_unit MiB"
        ),
    ] {
        let output = finish(runner().args(words(&line)));
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        let summary = summary(&output);
        assert_eq!(summary["run"], "segment-transfer", "{summary}");
        assert!(
            summary["results"][0]["values"]["bytesPerSecond"].is_number(),
            "{summary}"
        );
        assert!(output.stdout.contains("libfabric"), "{output:?}");
        target.wait_for_line("ready; ");
    }
}
