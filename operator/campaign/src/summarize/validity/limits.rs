//! Limits that no correct measurement violates: the line rate of the links, the minimum latency, and the time that the
//! operations of a case must have taken.

use crds::assignment::Workload;
use crds::record::{FabricFacts, LINE_RATE_TOLERANCE, Measurement};
use crds::v1alpha1::uses_memory_lane;

use super::case_check::Invalid;
use super::case_check::MIN_SPAN_SHARE;
use crate::collect::Case;
use crate::plan::PlannedScenario;
use crate::stats::Distribution;
use crate::summarize::workers::endpoints::EndpointIndex;
use crate::workload::rules;

/// Minimum one-way latency over an interface. A NIC is reached over PCI Express, whose round trip alone takes a few
/// hundred nanoseconds. A virtual interface is reached through system calls on both sides. No half round trip below 500
/// ns has been published for any NIC.
pub const FLOOR_INTERFACE_NANOS: u64 = 200;
/// Minimum one-way latency through memory. Transferring a cache line between two cores takes longer.
pub const FLOOR_MEMORY_NANOS: u64 = 5;

/// Fraction by which the sum of the latencies may exceed its limit, because histograms round latencies up.
const LATENCY_TOLERANCE: f64 = 0.02;
/// Minimum fraction of a window that the operations must fill. The rest is spent on the messages that open and close
/// the window.
const MIN_FILLED: f64 = 0.01;
/// Maximum length of a window to which [`MIN_FILLED`] does not apply.
const SHORT_WINDOW_NANOS: u64 = 10_000_000;

/// Detects a flow that was measured at a different time than the others. `span_nanos` is the time from the command that
/// opens the windows of all flows to the last report that a window has closed.
pub(super) fn check_simultaneous(span_nanos: Option<u64>, measured: &Measurement) -> Option<Invalid> {
    let posted = measured.initiator.posted.as_ref()?;
    let window_nanos = posted.simultaneous.map_or(0, |window| window.elapsed_nanos);
    let span_nanos = span_nanos.unwrap_or_default();
    let covers = span_nanos > 0 && window_nanos as f64 >= span_nanos as f64 * MIN_SPAN_SHARE;
    (!covers).then_some(Invalid::NotSimultaneous {
        window_nanos,
        span_nanos,
    })
}

/// Detects a side that posted more payload than its links can carry. Half of the payload uses each direction of the
/// links if written memory is read back.
pub(super) fn check_line_rate(
    workload: &Workload,
    case: &Case,
    measured: &Measurement,
    endpoints: &EndpointIndex<'_>,
) -> Option<Invalid> {
    let directions = if workload.reads_back() { 2.0 } else { 1.0 };
    let sides = [
        (case.initiator, &measured.initiator),
        (case.target, &measured.target),
    ];
    sides.into_iter().find_map(|(rank, side)| {
        let posted = side.posted.as_ref()?;
        let facts = endpoints.facts_of_case(case, rank)?;
        let line = facts.line_rate_of_used_rails(&posted.counters.bytes_per_rail)? as f64;
        let rate = posted.payload_rate().unwrap_or_default() / directions * 8.0;
        (rate > line * (1.0 + LINE_RATE_TOLERANCE)).then_some(Invalid::AboveLineRate {
            measured_bits_per_second: rate as u64,
            line_bits_per_second: line as u64,
        })
    })
}

/// Whether all data of these endpoints passes through network interfaces. UCX may use lanes over a network and through
/// memory for the same endpoint.
fn is_through_interface(facts: &FabricFacts) -> bool {
    let rails = &facts.rails;
    rails.iter().any(|rail| rail.interface.is_some())
        && !rails.iter().any(|rail| uses_memory_lane(&rail.lanes))
}

/// Detects a ping-pong whose median latency is below the physical minimum. Transfers have no such minimum, because an
/// injected send is complete for its sender as soon as it is copied.
pub(super) fn check_latency_floor(
    scenario: &PlannedScenario,
    case: &Case,
    measured: &Measurement,
    endpoints: &EndpointIndex<'_>,
) -> Option<Invalid> {
    if !rules(&scenario.assignment.workload).measures_round_trips() {
        return None;
    }
    let posted = measured.initiator.posted.as_ref()?;
    let measured_nanos = Distribution::from(posted).quantile(0.5)?;
    let facts = endpoints.facts_of_case(case, case.initiator);
    let interface = facts.is_some_and(is_through_interface);
    let (mut floor_nanos, mut floor) = match interface {
        true => (
            FLOOR_INTERFACE_NANOS,
            "the lowest possible latency through a network interface".to_owned(),
        ),
        false => (
            FLOOR_MEMORY_NANOS,
            "the lowest possible latency through memory".to_owned(),
        ),
    };
    let line = facts.and_then(|facts| facts.line_rate_of_used_rails(&posted.counters.bytes_per_rail));
    if let Some(line) = line.map(|bits| bits as f64) {
        let serialization = (case.size_bytes as f64 * 8e9 / (line * (1.0 + LINE_RATE_TOLERANCE))) as u64;
        if serialization > floor_nanos {
            floor_nanos = serialization;
            floor = format!("{} bytes at the line rate of {line} bit/s", case.size_bytes);
        }
    }
    (measured_nanos < floor_nanos).then_some(Invalid::BelowFloor {
        measured_nanos,
        floor_nanos,
        floor,
    })
}

/// Detects a side whose elapsed time is inconsistent with its window or with the latencies of its operations.
///
/// Operations that take `sum` nanoseconds in total, with at most `n` of them in flight, take at least `sum / n`
/// nanoseconds (Little's law).
pub(super) fn check_elapsed(workload: &Workload, measured: &Measurement) -> Option<Invalid> {
    let concurrent = rules(workload).concurrent_operations()?;
    let in_flight = match workload.open_loop() {
        // Latencies of an open loop include the time before an operation is in flight.
        Some(_) => f64::INFINITY,
        None => concurrent,
    };
    measured.posting_sides(workload).find_map(|side| {
        let posted = side.posted.as_ref()?;
        let (elapsed, window) = (posted.elapsed_nanos, side.window_nanos);
        let latencies = Distribution::from(posted);
        let sum: f64 = latencies
            .buckets()
            .map(|(nanos, count)| nanos as f64 * count as f64)
            .sum();
        let at_least = sum / in_flight / (1.0 + LATENCY_TOLERANCE);
        let limit = if elapsed > window {
            format!("the window lasted only {window} ns")
        } else if (elapsed as f64) < at_least {
            format!("its operations took at least {at_least:.0} ns")
        } else if !workload.uses_channels()
            && window > SHORT_WINDOW_NANOS
            && (elapsed as f64) < window as f64 * MIN_FILLED
        {
            format!("the window lasted {window} ns")
        } else {
            return None;
        };
        Some(Invalid::InconsistentTime {
            elapsed_nanos: elapsed,
            limit,
        })
    })
}

#[cfg(test)]
mod tests {
    use crds::assignment::{Extent, PingPongWorkload};
    use crds::histogram::Histogram;
    use crds::record::{Posted, RailFacts, SideReport};
    use crds::v1alpha1::PingPongOperation;

    use super::*;

    /// Checks a ping-pong with 100 samples of 1 us.
    fn check(elapsed_nanos: u64, window_nanos: u64) -> Option<String> {
        let mut latency = Histogram::new();
        (0..100).for_each(|_| latency.record(1_000));
        let measured = Measurement {
            initiator: SideReport {
                window_nanos,
                posted: Some(Posted {
                    elapsed_nanos,
                    latency,
                    ..Posted::default()
                }),
                ..SideReport::default()
            },
            target: SideReport::default(),
        };
        let workload = Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured: Extent::Iterations(100),
            warmup: Extent::Iterations(0),
        });
        check_elapsed(&workload, &measured).map(|invalid| invalid.to_string())
    }

    #[test]
    fn endpoints_with_shared_memory_lanes_are_not_through_an_interface() {
        let with = |interface: Option<&str>, lanes: &[&str]| FabricFacts {
            rails: vec![RailFacts {
                interface: interface.map(str::to_owned),
                lanes: lanes.iter().map(|&lane| lane.to_owned()).collect(),
                ..RailFacts::default()
            }],
            ..FabricFacts::default()
        };
        assert!(is_through_interface(&with(Some("eth0"), &[])));
        assert!(is_through_interface(&with(Some("eth0"), &["tcp/eth0"])));
        assert!(!is_through_interface(&with(
            Some("eth0"),
            &["tcp/eth0", "posix/memory"]
        )));
        assert!(!is_through_interface(&with(None, &["posix/memory"])));
    }

    #[test]
    fn elapsed_time_must_fit_the_latencies_and_the_window() {
        assert_eq!(check(200_000, 300_000), None);
        assert_eq!(
            check(300_001, 300_000).unwrap(),
            "the operations ended after 300001 ns, but the window lasted only 300000 ns"
        );
        assert!(check(190_000, 300_000).unwrap().contains("took at least 196"));
        assert_eq!(check(200_000, 10_000_000), None);
        assert!(
            check(200_000, 50_000_000)
                .unwrap()
                .contains("the window lasted 50000000 ns")
        );
    }
}
