//! Checks whether a measurement is incorrect or was disturbed. Performs no I/O.

use crds::record::{FabricFacts, LINE_RATE_TOLERANCE, Posted, SideReport};

use crate::direct::request::RequestedScenario;

/// Tolerance for times and rates, because clocks and nominal link rates are not exact.
const TOLERANCE: f64 = 1.02;

/// Number of samples that are in progress concurrently. It is 0.5 for a ping-pong, because a sample is only half of a
/// round trip.
pub(super) fn in_flight(scenario: &RequestedScenario) -> f64 {
    match scenario {
        RequestedScenario::LargeArray(_) => 1.0,
        RequestedScenario::SmallMessages(scenario) => f64::from(scenario.concurrency),
        RequestedScenario::PingpongFlag(_) => 0.5,
        RequestedScenario::StreamingDuplex(scenario) => f64::from(scenario.window),
        RequestedScenario::SegmentTransfer(scenario) => f64::from(scenario.batch * scenario.threads),
    }
}

/// Number of link directions across which a side's payload is divided equally.
fn directions(posted: &Posted) -> f64 {
    if posted.read_back.is_some() { 2.0 } else { 1.0 }
}

/// Checks that the operations that `side` posted are complete and that their times agree.
///
/// # Errors
/// Returns why the measurement cannot be correct.
pub(super) fn check(side: &SideReport, in_flight: f64, fabric: Option<&FabricFacts>) -> Result<(), String> {
    let Some(posted) = &side.posted else {
        return Ok(());
    };
    let samples = posted.latency.count();
    let (operations, payload_bytes, elapsed_nanos) = posted.timed();
    if operations == 0 || elapsed_nanos == 0 || posted.min_nanos == 0 || samples == 0 {
        return Err("nothing was measured".into());
    }
    if samples != operations {
        return Err(format!("{operations} operations have {samples} samples"));
    }
    if posted.elapsed_nanos > side.window_nanos {
        return Err("the operations took longer than the window that contains them".into());
    }
    let sum = posted.latency.mean().unwrap_or(0.0) * samples as f64;
    if (posted.elapsed_nanos as f64) < sum / (TOLERANCE * in_flight) {
        return Err("the operations took less time than the sum of their samples permits".into());
    }
    let line = fabric.and_then(|facts| facts.line_rate_of_used_rails(&posted.counters.bytes_per_rail));
    let rate = 8e9 * payload_bytes as f64 / directions(posted) / elapsed_nanos as f64;
    match line.map(|bits| bits as f64) {
        Some(bits) if rate > bits * (1.0 + LINE_RATE_TOLERANCE) => Err(format!(
            "the throughput is above the line rate of {:.0} Gbit/s",
            bits / 1e9
        )),
        _ => Ok(()),
    }
}

/// Disturbances of the measurement on each side.
pub(super) fn warnings(sides: [&SideReport; 2]) -> Vec<String> {
    let mut found = Vec::new();
    for (side, name) in sides.into_iter().zip(["client", "server"]) {
        if side.throttled_nanos.is_some_and(|nanos| nanos > 0) {
            found.push(format!(
                "{name}: the CPU limit of the cgroup throttled the process; raise the limit and measure again"
            ));
        }
        if side.migrations > 0 {
            found.push(format!(
                "{name}: a measuring thread left its CPU; reserve the CPUs for the measurement"
            ));
        }
        if side.governor_changed {
            found.push(format!(
                "{name}: the CPU frequency governor changed; set it before the measurement"
            ));
        }
    }
    found
}
