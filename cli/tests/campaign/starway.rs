//! Starway benchmark suite scenarios, over UCX and libfabric.

use crds::quantity::Quantity;
use crds::v1alpha1::ArmResult;

use super::harness::{RunningCommand, TestDir, workspace};
use super::stored_run::StoredRun;

/// Minimum number of rounds for a simultaneous 95 percent interval of one comparison.
const ROUNDS: &str = "6";

/// Runs an example with `fields` of its workload, if given, and returns the result of each variant.
fn run(name: &str, fields: Option<&str>) -> (StoredRun, ArmResult, ArmResult) {
    let text = std::fs::read_to_string(workspace().join(format!("examples/starway-{name}.yaml"))).unwrap();
    let text = match fields {
        Some(fields) => {
            let shorter = text.replace(": {}\n", &format!(": {{{fields}}}\n"));
            assert_ne!(shorter, text);
            shorter
        }
        None => text,
    };
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&text));
    command.args(["--rounds", ROUNDS]);
    let output = RunningCommand::start(command).wait();
    // The test does not depend on the verdict or on the noise of this machine.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    let stored = StoredRun::read(&dir.run_dir(&format!("starway-{name}")));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    let result = |arm: &str| {
        let mut results = stored.status().results.iter();
        results.find(|one| one.arm == arm).unwrap().clone()
    };
    let (ucx, libfabric) = (result("ucx"), result("libfabric"));
    (stored, ucx, libfabric)
}

#[test]
fn large_array_is_followed_by_a_flush_only_over_ucx() {
    let (_, ucx, libfabric) = run("large-array", Some("sizes: [8Mi]"));
    let flush = ucx.value(Quantity::FlushP50Nanos).unwrap();
    assert!(
        flush > 0 && flush <= ucx.value(Quantity::FlushMaxNanos).unwrap(),
        "{ucx:?}"
    );
    // The flush is part of the sample.
    assert!(flush < ucx.value(Quantity::LatencyMaxNanos).unwrap(), "{ucx:?}");
    assert_eq!(libfabric.value(Quantity::FlushP50Nanos), None);
    assert!(libfabric.value(Quantity::BytesPerSecond).is_some());
}

#[test]
fn small_messages_are_sent_in_batches_and_timed_individually() {
    let (stored, ucx, libfabric) = run("small-messages", None);
    for result in [&ucx, &libfabric] {
        assert!(
            result.value(Quantity::CompletionsPerSecond).is_some(),
            "{result:?}"
        );
        assert!(result.value(Quantity::Iterations).unwrap() >= 640, "{result:?}");
        // The messages of a batch do not complete at the same time.
        assert!(
            result.value(Quantity::LatencyMinNanos) < result.value(Quantity::LatencyP99Nanos),
            "{result:?}"
        );
    }
    let measured = stored.cases().into_iter().filter_map(|case| match &case.result {
        crds::record::CaseResult::Measured(measured) => measured.initiator.posted.as_ref(),
        _ => None,
    });
    for posted in measured {
        assert_eq!(posted.latency.count(), posted.operations);
        assert_eq!(posted.counters.posts_per_burst, 64);
    }
}

#[test]
fn flag_has_a_round_trip_and_a_one_way_time() {
    let (_, ucx, libfabric) = run("pingpong-flag", None);
    for result in [&ucx, &libfabric] {
        assert_eq!(result.size_bytes, 1);
        let mean = result.value(Quantity::MeanRoundTripNanos).unwrap();
        let (min, max) = (
            result.value(Quantity::LatencyMinNanos).unwrap(),
            result.value(Quantity::LatencyMaxNanos).unwrap(),
        );
        assert!((2 * min..=2 * max).contains(&mean), "{result:?}");
    }
}

#[test]
fn duplex_streams_have_their_own_clocks_and_delay_pings() {
    let (stored, ucx, libfabric) = run("streaming-duplex", Some("sizes: [1Mi], iterations: 512"));
    for result in [&ucx, &libfabric] {
        let value = |quantity| result.value(quantity).unwrap();
        assert!(
            value(Quantity::DirectionsInitiatorBytesPerSecond) > 0,
            "{result:?}"
        );
        assert!(value(Quantity::DirectionsTargetBytesPerSecond) > 0, "{result:?}");
        let balance = value(Quantity::DirectionsBalancePpm);
        assert!((200_000..=1_000_000).contains(&balance), "{result:?}");
        let (idle, loaded) = (
            value(Quantity::PingIdleP99Nanos),
            value(Quantity::PingLoadedP99Nanos),
        );
        assert!(loaded > idle, "{result:?}");
        assert_eq!(
            value(Quantity::PingBlockingPpm),
            ((loaded as f64 / idle as f64) * 1e6).round() as i64
        );
    }
    let clocks = stored.cases().into_iter().filter_map(|case| match &case.result {
        crds::record::CaseResult::Measured(measured) => Some((
            measured.initiator.posted.as_ref().unwrap().elapsed_nanos,
            measured.target.posted.as_ref().unwrap().elapsed_nanos,
        )),
        _ => None,
    });
    assert!(
        clocks.into_iter().any(|(one, other)| one != other),
        "both directions share a clock"
    );
}
