//! Tests of measurements over the transports that need no device, and of the consistency of their results.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::namespaces::{Namespaces, can_create_namespaces};
use crate::roles::{Output, Server, finish, runner, runner_in};

/// Small sizes and counts, so that a measurement takes about a second.
const SMALL: [&str; 16] = [
    "--large-bytes",
    "2Mi",
    "--large-iterations",
    "25",
    "--small-bytes",
    "512",
    "--small-iterations",
    "4",
    "--small-concurrency",
    "8",
    "--flag-iterations",
    "50",
    "--stream-bytes",
    "256Ki",
    "--stream-iterations",
    "12",
];

/// Runs a role that writes results, and returns the results.
fn measure(arguments: &[&str]) -> (Output, Value) {
    measure_as(&mut runner(), arguments)
}

/// Like [`measure`], with a command that starts the runner.
fn measure_as(command: &mut Command, arguments: &[&str]) -> (Output, Value) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.json");
    let output = finish(command.args(arguments).args(SMALL).arg("--output").arg(&path));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let results = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    (output, results)
}

/// The result of the scenario `name`.
pub fn result<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut results = report["results"].as_array().unwrap().iter();
    results.find(|result| result["scenarioName"] == name).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

fn assert_close(first: f64, second: f64) {
    assert!(
        (first - second).abs() <= 1e-9 * first.abs().max(second.abs()),
        "{first} and {second}"
    );
}

/// Checks the values that every result has: `iterations` operations of `size` bytes per thread, in each of `directions`.
fn check_values(report: &Value, name: &str, size: u64, iterations: u32) -> Value {
    let result = result(report, name);
    assert_eq!(
        (&result["validCases"], &result["cases"]),
        (&1.into(), &1.into()),
        "{result}"
    );
    assert_eq!(result["sizeBytes"], size);
    let values = &result["values"];
    assert_eq!(number(&values["iterations"]), f64::from(iterations), "{result}");
    assert_close(
        number(&values["completionsPerSecond"]) * size as f64,
        number(&values["bytesPerSecond"]),
    );
    let latency = ["Min", "P50", "Max"].map(|name| number(&values[format!("latency{name}Nanos")]));
    assert!(latency.is_sorted() && latency[0] > 0.0, "{values}");
    assert!(number(&values["cpuPercent"]) > 0.0, "{values}");
    values.clone()
}

/// Checks that the values of every scenario agree with each other.
fn check(report: &Value, has_flush: bool) {
    // Every scenario was verified and measured.
    assert_eq!(
        (&report["complete"], &report["blocksDone"]),
        (&true.into(), &8.into()),
        "{report}"
    );
    let values = check_values(report, "large-array", 2 << 20, 25);
    assert_eq!(values["flushP50Nanos"].is_number(), has_flush, "{values}");
    let values = check_values(report, "small-messages", 512, 32);
    assert!(values["latencyP95Nanos"].is_number(), "{values}");
    // The percentile would be the largest of 32 samples.
    assert_eq!(values["latencyP99Nanos"], Value::Null);
    let values = check_values(report, "pingpong-flag", 1, 50);
    let mean = number(&values["meanRoundTripNanos"]);
    assert_close(1e9 / mean, number(&values["completionsPerSecond"]));
    let [min, max] = ["latencyMinNanos", "latencyMaxNanos"].map(|name| 2.0 * number(&values[name]));
    assert!((min - 10.0..=max + 10.0).contains(&mean), "{values}");
    let values = check_values(report, "streaming-duplex", 256 << 10, 12);
    let directions = [
        "directionsInitiatorBytesPerSecond",
        "directionsTargetBytesPerSecond",
    ];
    let [up, down] = directions.map(|name| number(&values[name]));
    assert_ne!(up, down, "each direction has its own clock");
    let balance = number(&values["directionsBalancePpm"]) / 1e6;
    assert!((balance - up.min(down) / up.max(down)).abs() < 1e-5, "{values}");
    // There are few pings of one kind if other processes use the CPUs meanwhile.
    let pings = ["pingIdleP99Nanos", "pingLoadedP99Nanos"];
    assert!(pings.iter().any(|name| values[name].is_number()), "{values}");
}

/// The samples of a scenario in nanoseconds, in the order of the ranks.
fn samples(report: &Value, name: &str, field: &str) -> Vec<Vec<f64>> {
    let samples = report["samples"].as_array().unwrap().iter();
    samples
        .filter(|side| side["scenario"] == name)
        .map(|side| {
            side["samples"][field]
                .as_array()
                .into_iter()
                .flatten()
                .map(number)
                .collect()
        })
        .collect()
}

/// Checks that the samples agree with the values that were computed from them.
fn check_samples(report: &Value) {
    let large = &result(report, "large-array")["values"];
    let mut times = samples(report, "large-array", "operationNanos").swap_remove(0);
    times.sort_unstable_by(f64::total_cmp);
    assert_eq!(times.len(), 25);
    assert_close(number(&large["latencyMinNanos"]), times[0]);
    assert_close(number(&large["latencyMaxNanos"]), times[24]);
    let median = number(&large["latencyP50Nanos"]) / times[12];
    assert!((0.99..1.01).contains(&median), "{median}");
    assert_eq!(samples(report, "small-messages", "operationNanos")[0].len(), 32);
    assert_eq!(samples(report, "pingpong-flag", "operationNanos")[0].len(), 50);
    let sides = samples(report, "streaming-duplex", "operationNanos");
    assert_eq!([sides[0].len(), sides[1].len()], [12, 12]);
    assert!(samples(report, "streaming-duplex", "idlePingNanos")[0].len() >= 100);
}

/// What the library reported on the client.
fn fabric(report: &Value) -> &Value {
    &report["environment"]["arms"][0]["fabric"]
}

fn lanes(report: &Value) -> String {
    fabric(report)["rails"][0]["lanes"].to_string()
}

#[test]
fn loopback_over_ucx_shared_memory_with_samples() {
    let (output, results) = measure(&["loopback", "--tls", "sm", "--store-trace"]);
    check(&results, true);
    check_samples(&results);
    assert!(lanes(&results).contains("posix/memory"), "{results}");
    for text in [
        "large-array throughput",
        "pingpong-flag",
        "balance",
        "GB/s",
        "JSON summary",
    ] {
        assert!(output.stdout.contains(text), "{output:?}");
    }
}

#[test]
fn results_are_written_if_nothing_reads_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.json");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = runner()
        .args(["loopback", "--tls", "sm"])
        .args(SMALL)
        .arg("--output")
        .arg(&path)
        .stdout(writer)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("writing to standard output"), "{stderr}");
    let results: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    check(&results, true);
}

#[test]
fn loopback_over_ucx_tcp_replaces_ucx_tls() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.json");
    let mut command = runner();
    command
        .env("UCX_TLS", "sm")
        .args(["loopback", "--tls", "tcp"])
        .args(SMALL);
    let output = finish(command.arg("--output").arg(&path));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let results: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    check(&results, true);
    assert_eq!(lanes(&results), r#"["tcp/lo"]"#);
    assert_eq!(results["samples"], Value::Null);
}

#[test]
fn ucx_tls_selects_the_transport_if_no_flag_does() {
    let flags = ["--scenarios", "pingpong-flag", "--flag-iterations", "10"];
    let output = finish(runner().env("UCX_TLS", "tcp,self").arg("loopback").args(flags));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.contains("(tcp)"), "{output:?}");
}

#[test]
fn loopback_over_libfabric_tcp() {
    let (_, results) = measure(&["loopback", "--provider", "tcp"]);
    check(&results, false);
    assert_eq!(fabric(&results)["library"]["name"], "libfabric");
}

#[test]
fn loopback_over_libfabric_shared_memory() {
    let (_, results) = measure(&["loopback", "--library", "libfabric", "--provider", "shm"]);
    check(&results, false);
    assert_eq!(fabric(&results)["provider"], "shm");
}

#[test]
fn client_and_server_measure_over_one_connection() {
    let server = Server::start(&["--tls", "tcp"]);
    let port = server.port.to_string();
    let (_, results) = measure(&["connect", "--tls", "tcp", "--port", &port, "--store-trace"]);
    check(&results, true);
    let server = server.finish();
    assert_eq!(server.status.code(), Some(0), "{server:?}");
    assert!(
        server
            .stdout
            .contains("large-array small-messages pingpong-flag streaming-duplex with --tls tcp")
    );
    // The data uses the connection's interface.
    assert_eq!(lanes(&results), r#"["tcp/lo"]"#);
    // The server's samples stay on its machine.
    assert_eq!(samples(&results, "streaming-duplex", "operationNanos").len(), 1);
}

/// Two network namespaces simulate two machines: each side must use the interface that leads to the other side.
#[test]
fn two_machines_use_the_network_between_them() {
    if !can_create_namespaces("two_machines_use_the_network_between_them") {
        return;
    }
    let machines = Namespaces::with_rails(1, "5gbit");
    let rails = [0, 1].map(|side| machines.rail_address(side, 0));
    // If --device is not given, the data uses the connection's network.
    let by_connection = (&["--tls", "tcp"], &rails[1], true);
    let by_device = (&["--provider", "tcp"], &machines.rendezvous_address(1), false);
    for (transport, address, has_flush) in [by_connection, by_device] {
        let mut devices = rails.each_ref().map(|rail| vec!["--device", rail]);
        if has_flush {
            devices = [vec![], vec![]];
        }
        let [client, server] = devices;
        let flags = [vec!["--addr", address], server].concat();
        let server = Server::start_as(&mut runner_in(&machines, 1), &flags);
        let port = server.port.to_string();
        let connect = vec!["connect", "--server-host", address, "--port", &port];
        let arguments = [connect, transport.to_vec(), client].concat();
        let (output, results) = measure_as(&mut runner_in(&machines, 0), &arguments);
        check(&results, has_flush);
        for arm in results["environment"]["arms"].as_array().unwrap() {
            let rail = &arm["fabric"]["rails"][0];
            assert_eq!(rail["interface"], machines.rail_interface(0).as_str(), "{rail}");
        }
        // The counters of the interface prove it.
        assert_eq!(results["fabric"]["proof"], "Verified", "{}", results["fabric"]);
        assert!(output.stdout.contains("rail0 counted"), "{output:?}");
        assert_eq!(server.finish().status.code(), Some(0));
    }
}

/// Receives for messages that are larger than a fifth of the memory budget share their memory. Control messages must
/// not overwrite such a message before it is verified.
#[test]
fn large_messages_are_verified() {
    for transport in [["--tls", "sm"], ["--provider", "shm"]] {
        let flags = [
            "--scenarios",
            "large-array",
            "--large-bytes",
            "32Mi",
            "--large-iterations",
            "2",
        ];
        let output = finish(runner().arg("loopback").args(transport).args(flags));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        // One block verifies, and one measures.
        assert!(output.stderr.contains("2/2 blocks"), "{output:?}");
    }
}

/// Each side loads the library that its own flag names.
#[test]
fn each_side_chooses_its_library() {
    let Ok(directory) = env::var("FABRICBENCH_TEST_UCX_2") else {
        return;
    };
    let server = Server::start(&["--library-directory", &directory]);
    let port = server.port.to_string();
    let flags = [
        "--tls",
        "tcp",
        "--scenarios",
        "pingpong-flag",
        "--library-directory",
        &directory,
    ];
    let (_, results) = measure(&[&["connect", "--port", &port], flags.as_slice()].concat());
    let path = fabric(&results)["library"]["path"].as_str().unwrap();
    let expected = Path::new(&directory).canonicalize().unwrap();
    assert!(
        Path::new(path).canonicalize().unwrap().starts_with(expected),
        "{path}"
    );
    // The server has loaded the same library: the sides of an arm that differ are listed separately.
    assert_eq!(
        results["environment"]["arms"].as_array().unwrap().len(),
        1,
        "{results}"
    );
    assert_eq!(server.finish().status.code(), Some(0));
}
