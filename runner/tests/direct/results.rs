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

fn scenario<'a>(results: &'a Value, name: &str) -> &'a Value {
    let scenarios = results["scenarios"].as_array().unwrap().iter();
    scenarios
        .into_iter()
        .find(|scenario| scenario["name"] == name)
        .unwrap()
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

/// Checks that `gigabytesPerSecond` is `bytes / seconds / 1e9`, and that `bytes` is the size of `iterations` messages.
fn check_throughput(throughput: &Value, scenario: &Value) {
    let bytes = number(&throughput["bytes"]);
    assert_eq!(
        bytes,
        number(&scenario["sizeBytes"]) * number(&scenario["iterations"])
    );
    assert_close(
        bytes / number(&throughput["seconds"]) / 1e9,
        number(&throughput["gigabytesPerSecond"]),
    );
}

/// Checks that the percentiles of a distribution are in order, and returns its number of samples.
fn check_distribution(distribution: &Value) -> f64 {
    let names = ["min", "p50", "p95", "p99", "max"].map(|name| format!("{name}Microseconds"));
    let values: Vec<f64> = names
        .iter()
        .filter_map(|name| distribution[name].as_f64())
        .collect();
    assert!(values.is_sorted() && values[0] > 0.0, "{distribution}");
    number(&distribution["samples"])
}

/// Checks that the metrics of every scenario agree with each other.
fn check(results: &Value, has_flush: bool) {
    for scenario in results["scenarios"].as_array().unwrap() {
        assert_eq!(scenario["state"], "Measured", "{scenario}");
        assert!(number(&scenario["integrity"]["bytes"]) > 0.0, "{scenario}");
    }
    let large = scenario(results, "large-array");
    let metrics = &large["metrics"];
    assert_eq!(
        (number(&large["sizeBytes"]), number(&large["iterations"])),
        (2097152.0, 25.0)
    );
    check_throughput(&metrics["total"], large);
    let rates = ["worst", "median", "best"].map(|name| number(&metrics[format!("{name}GigabytesPerSecond")]));
    assert!(rates.is_sorted(), "{metrics}");
    assert_eq!(metrics["flush"].is_object(), has_flush, "{metrics}");
    if has_flush {
        assert_eq!(check_distribution(&metrics["flush"]), 25.0);
    } else {
        assert_eq!(large["omitted"]["flush"], "libfabric has no flush");
    }

    let small = scenario(results, "small-messages");
    let metrics = &small["metrics"];
    assert_eq!(
        (number(&small["iterations"]), number(&small["inFlight"])),
        (32.0, 8.0)
    );
    check_throughput(&metrics["total"], small);
    let seconds = number(&metrics["total"]["seconds"]);
    assert_close(number(&metrics["messagesPerSecond"]), 32.0 / seconds);
    assert_eq!(check_distribution(&metrics["latency"]), 32.0);
    assert!(metrics["latency"]["p95Microseconds"].is_number());
    assert_eq!(metrics["latency"]["p99Microseconds"], Value::Null);
    assert_eq!(
        small["omitted"]["latency.p99Microseconds"],
        "32 samples are too few"
    );

    let flag = scenario(results, "pingpong-flag");
    let metrics = &flag["metrics"];
    assert_eq!(check_distribution(&metrics["roundTrip"]), 50.0);
    let mean = number(&metrics["meanRoundTripMicroseconds"]);
    assert_close(mean, 2.0 * number(&metrics["meanOneWayMicroseconds"]));
    assert_close(mean, number(&metrics["totalSeconds"]) * 1e6 / 50.0);
    let trips = &metrics["roundTrip"];
    assert!(
        (number(&trips["minMicroseconds"])..=number(&trips["maxMicroseconds"]) + 0.01).contains(&mean),
        "{metrics}"
    );

    let duplex = scenario(results, "streaming-duplex");
    let metrics = &duplex["metrics"];
    let directions = ["clientToServer", "serverToClient"].map(|name| &metrics[name]);
    for direction in directions {
        check_throughput(direction, duplex);
    }
    let [up, down] = directions.map(|direction| number(&direction["gigabytesPerSecond"]));
    assert_close(number(&metrics["combinedGigabytesPerSecond"]), up + down);
    assert_close(number(&metrics["balance"]), up.min(down) / up.max(down));
    assert_ne!(
        directions[0]["seconds"], directions[1]["seconds"],
        "each direction has its own clock"
    );
    assert!(check_distribution(&metrics["pingIdle"]) > 100.0);
}

/// Checks that the samples agree with the metrics that were computed from them.
fn check_samples(results: &Value) {
    let samples = |name: &str, side: usize, field: &str| -> Vec<f64> {
        let values = &scenario(results, name)["samples"][side][field];
        values.as_array().unwrap().iter().map(number).collect()
    };
    let large = &scenario(results, "large-array")["metrics"];
    let mut times = samples("large-array", 0, "operationNanos");
    times.sort_unstable_by(f64::total_cmp);
    assert_eq!(times.len(), 25);
    assert_close(number(&large["bestGigabytesPerSecond"]), 2097152.0 / times[0]);
    assert_close(number(&large["worstGigabytesPerSecond"]), 2097152.0 / times[24]);
    let median = number(&large["medianGigabytesPerSecond"]) / (2097152.0 / times[12]);
    assert!((0.998..1.002).contains(&median), "{median}");
    assert_eq!(samples("small-messages", 0, "operationNanos").len(), 32);
    assert_eq!(samples("pingpong-flag", 0, "operationNanos").len(), 50);
    let sides = &scenario(results, "streaming-duplex")["samples"];
    assert_eq!(
        (&sides[0]["side"], &sides[1]["side"]),
        (&"client".into(), &"server".into())
    );
    for side in [0, 1] {
        assert_eq!(samples("streaming-duplex", side, "operationNanos").len(), 12);
    }
    let idle = &scenario(results, "streaming-duplex")["metrics"]["pingIdle"]["samples"];
    let pings = samples("streaming-duplex", 0, "idlePingNanos");
    assert_eq!(pings.len() as f64, number(idle));
}

fn library(side: &Value) -> &str {
    side["fabric"]["library"]["name"].as_str().unwrap()
}

fn lanes(side: &Value) -> String {
    side["fabric"]["rails"][0]["lanes"].to_string()
}

#[test]
fn loopback_over_ucx_shared_memory_with_samples() {
    let (output, results) = measure(&["loopback", "--tls", "sm", "--store-trace"]);
    check(&results, true);
    check_samples(&results);
    assert!(lanes(&results["client"]).contains("posix/memory"), "{results}");
    for text in [
        "[large-array]",
        "[streaming-duplex]",
        "balance",
        "GB/s",
        "verified beforehand",
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
    assert_eq!(lanes(&results["server"]), r#"["tcp/lo"]"#);
    assert_eq!(scenario(&results, "large-array")["samples"], Value::Null);
}

#[test]
fn ucx_tls_selects_the_transport_if_no_flag_does() {
    let flags = ["--scenarios", "pingpong-flag", "--flag-iterations", "10"];
    let output = finish(runner().env("UCX_TLS", "tcp,self").arg("loopback").args(flags));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.contains("lanes tcp/lo"), "{output:?}");
}

#[test]
fn loopback_over_libfabric_tcp() {
    let (_, results) = measure(&["loopback", "--provider", "tcp"]);
    check(&results, false);
    assert_eq!(library(&results["client"]), "libfabric");
}

#[test]
fn loopback_over_libfabric_shared_memory() {
    let (_, results) = measure(&["loopback", "--library", "libfabric", "--provider", "shm"]);
    check(&results, false);
    assert_eq!(results["client"]["fabric"]["provider"], "shm");
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
    for side in ["client", "server"] {
        assert_eq!(lanes(&results[side]), r#"["tcp/lo"]"#);
    }
    // The server's samples stay on its machine.
    let samples = &scenario(&results, "streaming-duplex")["samples"];
    assert_eq!(
        (samples.as_array().unwrap().len(), &samples[0]["side"]),
        (1, &"client".into())
    );
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
        for side in ["client", "server"] {
            let rail = &results[side]["fabric"]["rails"][0];
            assert_eq!(rail["interface"], machines.rail_interface(0).as_str(), "{rail}");
        }
        let interfaces = &scenario(&results, "large-array")["clientInterfaces"];
        assert!(
            number(&interfaces[0]["txBytes"]) > 25.0 * 2097152.0,
            "{interfaces}"
        );
        assert!(output.stdout.contains("rail0 sent"), "{output:?}");
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
        assert!(
            output.stdout.contains("67.1 MB verified beforehand"),
            "{output:?}"
        );
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
    for side in ["client", "server"] {
        let path = results[side]["fabric"]["library"]["path"].as_str().unwrap();
        let expected = Path::new(&directory).canonicalize().unwrap();
        assert!(
            Path::new(path).canonicalize().unwrap().starts_with(expected),
            "{path}"
        );
    }
    assert_eq!(server.finish().status.code(), Some(0));
}
