//! Load sweeps: the knee of a rate-limited loopback interface, a sweep without a knee, and a replayed sweep.

use crds::quantity::Quantity;
use crds::v1alpha1::{KneePosition, SweepResult};

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::manifest::{LOOPBACK, NAME, TCP, run};
use super::network_namespace::with_loopback;
use super::stored_run::StoredRun;

const ONE: &str = "[{name: baseline}]";
/// Rate limit of the loopback interface, in bits per second.
const RATE: f64 = 100e6;
/// Transfer size, in bytes.
const SIZE: f64 = 65536.0;
/// Maximum error of the knee and the capacity.
const TOLERANCE: f64 = 0.05;

/// Runs a sweep of 64 KiB writes with windows of length `duration` in a separate namespace, and returns its result and
/// the text report.
fn sweep(shape: &str, duration: &str, sweep: &str, sampling: &str) -> (SweepResult, String) {
    let dir = TestDir::new();
    // The window is small, so that the socket and qdisc buffers hold all transfers in flight. The target sleeps, so
    // that it does not take CPU time from the initiator.
    let scenarios = format!(
        "[{{name: link, integrity: false, polling: Wait, transfer: {{sizes: [64Ki], window: 8, duration: {duration}, \
         warmup: 20, load: {{sweep: {sweep}}}}}}}]"
    );
    let manifest = dir.manifest(&run(ONE, TCP, &scenarios, &[sampling]));
    let output = RunningCommand::start(with_loopback(shape, &dir.run(&manifest))).wait();
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let [result] = &stored.status().sweeps[..] else {
        panic!("{:?}", stored.status().sweeps);
    };
    println!("{result:?}");
    (result.clone(), output.stdout)
}

#[test]
fn knee_of_a_rate_limited_link_is_found_within_5_percent() {
    // The limit counts every byte on the interface. At the MTU of 65536 bytes, a 64 KiB transfer takes two frames. Its
    // Ethernet, IP, TCP and provider headers, acknowledgements and completion message add about 0.5 percent to its
    // bytes. The sweep's steps of 4.6 percent place rates on both sides of the limit.
    let limit = RATE / 8.0 / SIZE;
    let (result, text) = sweep(
        // The burst is less than 1 percent of a window's bytes. The queue holds all transfers in flight, so that none
        // is dropped.
        "tbf rate 100mbit burst 192k latency 500ms",
        "2s",
        "{from: 172, to: 206, steps: 5, arrivals: Constant}",
        "sampling: {rounds: 3, control: false}",
    );
    let knee = result.knee.unwrap();
    assert_eq!(knee.position, KneePosition::InRange);
    let (rate, next) = (knee.rate.unwrap(), knee.next_rate.unwrap());
    assert!(
        (f64::from(rate) / limit - 1.0).abs() < TOLERANCE,
        "{rate} {limit}"
    );
    assert!(f64::from(next) > limit, "{next} {limit}");
    let capacity = result.capacity.unwrap() as f64;
    assert!((capacity / limit - 1.0).abs() < TOLERANCE, "{capacity} {limit}");
    assert!(text.contains(&format!("{rate}/s (not {next}/s)")), "{text}");
}

#[test]
fn sweep_below_the_capacity_ends_above_its_range() {
    let (result, text) = sweep(
        "",
        "1s",
        "{from: 50, to: 200, steps: 3, arrivals: Constant}",
        "sampling: {rounds: 3, control: false}",
    );
    let knee = result.knee.unwrap();
    assert_eq!(
        (knee.position, knee.rate, knee.next_rate),
        (KneePosition::AboveRange, None, None)
    );
    assert_eq!(result.capacity, None);
    assert!(text.contains("above 200/s"), "{text}");
}

#[test]
fn replayed_sweep_measures_the_same_number_of_transfers_at_every_rate() {
    let dir = TestDir::new();
    let scenarios = "[{name: rates, transfer: {sizes: [64], iterations: 20, warmup: 5, \
                     load: {sweep: {from: 2000, to: 8000, steps: 3}}}}]";
    let sampling = "sampling: {rounds: 2, minWindow: 20ms, control: false}";
    let manifest = dir.manifest(&run(ONE, LOOPBACK, scenarios, &[sampling]));
    RunningCommand::start(dir.run(&manifest)).wait();
    let finished = dir.run_dir(NAME).display().to_string();
    for (format, expected) in [
        ("html", "Latency by rate in the sweep rates"),
        ("markdown", "| arm | sustained | capacity |"),
        ("json", "\"sweep\": \"rates\""),
    ] {
        let output = RunningCommand::start(fabricbench(["report", &finished, "--format", format])).wait();
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
    let iterations = |directory: &std::path::Path| -> Vec<(String, Option<i64>)> {
        let stored = StoredRun::read(directory);
        stored.assert_complete();
        let results = stored.status().results.iter();
        results
            .map(|result| (result.scenario.clone(), result.value(Quantity::Iterations)))
            .collect()
    };
    let first = iterations(&dir.run_dir(NAME));
    assert_eq!(first.len(), 3);
    let again = TestDir::new();
    let output = again.output_dir().display().to_string();
    RunningCommand::start(fabricbench(["replay", &finished, "--output", &output])).wait();
    let second = StoredRun::read(&again.run_dir(NAME));
    let counts = &second.run.spec.scenarios[0].operation_counts;
    let rates: Vec<_> = counts.iter().map(|count| count.rate).collect();
    assert_eq!(rates, [Some(2000), Some(4000), Some(8000)]);
    assert_eq!(iterations(&again.run_dir(NAME)), first);
}
