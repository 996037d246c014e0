//! Compares the runner's `loopback` role with the Starway benchmark suite: small messages and the flag ping-pong, with
//! the suite's defaults, over the same UCX library and transport. Starway runs both sides in one Python process; the
//! runner uses two processes.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::runner::runner_binary;
use crate::table::{Row, STARWAY_HEADER};

/// Transport names, which are the same in both tools.
const TRANSPORTS: [&str; 2] = ["tcp", "sm"];
/// Compared scenarios. Each has one compared value, with its unit, its keys in the suite's and the runner's output, and the
/// factor of the latter.
const VALUES: [(&str, &str, &str, &str, f64); 2] = [
    (
        "small-messages",
        "messages/s",
        "messages_per_second",
        "completionsPerSecond",
        1.0,
    ),
    (
        "pingpong-flag",
        "mean round trip, us",
        "avg_rtt_us",
        "meanRoundTripNanos",
        1e-3,
    ),
];
/// Port of the first suite run. Each run uses a different port, because the suite cannot reuse a port until the
/// connections of the previous run have expired.
const PORT: u16 = 17_940;
/// Maximum duration of one run, as a `timeout` argument.
const DEADLINE: &str = "120";

/// Measures both scenarios over each transport, using the UCX library in the `library` directory, and prints a table.
/// `python` is an interpreter that can import Starway 0.6.0.
pub fn measure(python: &Path, library: &Path, repeats: usize) {
    println!("\n{STARWAY_HEADER}");
    let mut ports = PORT..;
    for transport in TRANSPORTS {
        let mut rows = VALUES.map(|_| Row::new(1));
        for repetition in 0..repeats {
            // The order alternates, so that no tool always runs in the same position.
            let port = ports.next().unwrap();
            let (runner, starway);
            if repetition % 2 == 0 {
                runner = measure_runner(library, transport);
                starway = measure_starway(python, library, transport, port);
            } else {
                starway = measure_starway(python, library, transport, port);
                runner = measure_runner(library, transport);
            }
            for (row, (scenario, _, suite_key, runner_key, factor)) in rows.iter_mut().zip(VALUES) {
                row.add(
                    factor
                        * metric(
                            &runner,
                            ["results", "scenarioName", "values"],
                            scenario,
                            runner_key,
                        ),
                    metric(&starway, ["scenarios", "name", "metrics"], scenario, suite_key),
                );
            }
        }
        for (row, (scenario, unit, ..)) in rows.iter().zip(VALUES) {
            println!("| {transport} | {scenario} | {unit} |{}", row.values());
        }
    }
}

fn measure_runner(library: &Path, transport: &str) -> Value {
    let mut command = timed_command(&runner_binary());
    command
        .args(["loopback", "--tls", transport, "--library-directory"])
        .arg(library);
    summary(command)
}

/// Runs the suite, which opens UCX from its Python environment unless the library search path contains another copy.
fn measure_starway(python: &Path, library: &Path, transport: &str, port: u16) -> Value {
    let mut command = timed_command(python);
    command
        .args(["-m", "starway.bench", "--role", "loopback", "--addr", "127.0.0.1"])
        .args(["--tls", transport, "--port", &port.to_string()])
        .env("STARWAY_USE_SYSTEM_UCX", "false")
        .env("LD_LIBRARY_PATH", library);
    if transport == "tcp" {
        command.env("UCX_NET_DEVICES", "lo");
    }
    summary(command)
}

fn timed_command(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(DEADLINE).arg(program);
    command
}

/// Runs a tool with both scenarios and returns its JSON summary.
fn summary(mut command: Command) -> Value {
    let file = tempfile::NamedTempFile::new().unwrap();
    let scenarios = VALUES.map(|(scenario, ..)| scenario);
    let output = command
        .arg("--output")
        .arg(file.path())
        .arg("--scenarios")
        .args(scenarios)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap()
}

/// The value `key` of `scenario`. `fields` are the list of scenarios, and the name and the values of an element.
fn metric(summary: &Value, [list, name, values]: [&str; 3], scenario: &str, key: &str) -> f64 {
    let scenarios = summary[list].as_array().unwrap();
    let found = scenarios.iter().find(|one| one[name] == scenario).unwrap();
    found[values][key].as_f64().unwrap()
}
