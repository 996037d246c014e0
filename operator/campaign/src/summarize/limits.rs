//! Physical limits of a fabric: the line rate of its links and the minimum latency.

use crds::assignment::Workload;
use crds::record::FabricFacts;

use super::{EndpointIndex, Invalid};
use crate::collect::{Case, Measured, PostedSide};
use crate::plan::PlannedScenario;

/// Fraction by which a payload rate may exceed the line rate. A library may report completions for data that is still
/// in its buffers, so the reported payload can exceed the transmitted payload by at most the size of these buffers.
pub const LINE_RATE_TOLERANCE: f64 = 0.01;
/// Minimum one-way latency over an interface. A NIC is reached over PCI Express, whose round trip alone takes a few
/// hundred nanoseconds. A virtual interface is reached through system calls on both sides. No half round trip below 500
/// ns has been published for any NIC.
pub const FLOOR_INTERFACE_NANOS: u64 = 200;
/// Minimum one-way latency through memory. The transfer of a cache line between two cores takes longer.
pub const FLOOR_MEMORY_NANOS: u64 = 5;

/// Line rate in bits per second of the links that carried `posted`; `None` unless it is known for every rail. The rate
/// that a virtual interface reports is not a limit, so the rate of a rail without a PCI device is treated as unknown.
fn line_rate(facts: &FabricFacts, posted: &PostedSide) -> Option<f64> {
    let mut links: Vec<(&str, u64)> = Vec::new();
    for (rail, bytes) in posted.counters.bytes_per_rail.iter().enumerate() {
        if *bytes == 0 {
            continue;
        }
        let facts = facts.rails.get(rail)?;
        let (Some(_), Some(name), Some(rate)) = (&facts.pci, &facts.interface, facts.line_bits_per_second)
        else {
            return None;
        };
        if !links.iter().any(|(known, _)| known == name) {
            links.push((name, rate));
        }
    }
    let sum: u64 = links.iter().map(|(_, rate)| *rate).sum();
    (sum > 0).then_some(sum as f64)
}

/// Detects a side that posted more payload than its links can carry.
pub(super) fn check_line_rate(
    case: &Case,
    measured: &Measured,
    endpoints: &EndpointIndex<'_>,
) -> Option<Invalid> {
    let sides = [
        (case.initiator, &measured.initiator),
        (case.target, &measured.target),
    ];
    sides.into_iter().find_map(|(rank, side)| {
        let posted = side.posted.as_ref()?;
        let line = line_rate(endpoints.facts_of_case(case, rank)?, posted)?;
        let rate = posted.payload_bytes as f64 * 8e9 / posted.elapsed_nanos.max(1) as f64;
        (rate > line * (1.0 + LINE_RATE_TOLERANCE)).then_some(Invalid::AboveLineRate {
            measured_bits_per_second: rate as u64,
            line_bits_per_second: line as u64,
        })
    })
}

/// Detects a ping-pong whose median latency is below the physical minimum. Transfers have no such minimum, because an
/// injected send is complete for its sender as soon as it is copied.
pub(super) fn check_latency_floor(
    scenario: &PlannedScenario,
    case: &Case,
    measured: &Measured,
    endpoints: &EndpointIndex<'_>,
) -> Option<Invalid> {
    if !matches!(scenario.assignment.workload, Workload::PingPong(_)) {
        return None;
    }
    let posted = measured.initiator.posted.as_ref()?;
    let measured_nanos = posted.latency.quantile(0.5)?;
    let facts = endpoints.facts_of_case(case, case.initiator);
    let interface = facts.is_some_and(|facts| facts.rails.iter().any(|rail| rail.interface.is_some()));
    let (mut floor_nanos, mut floor) = match interface {
        true => (FLOOR_INTERFACE_NANOS, "the minimum over an interface".to_owned()),
        false => (FLOOR_MEMORY_NANOS, "the minimum through memory".to_owned()),
    };
    if let Some(line) = facts.and_then(|facts| line_rate(facts, posted)) {
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
