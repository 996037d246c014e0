//! What no fabric can do: more than its links carry, faster than bytes move.

use crds::assignment::Workload;
use crds::record::FabricFacts;

use super::{EndpointIndex, Invalid};
use crate::collect::{Case, Measured, PostedSide};
use crate::plan::PlannedScenario;

/// Part by which a payload rate may exceed the links': completions that a library reports from its own buffers can
/// run ahead of the wire by what these hold.
pub const LINE_RATE_TOLERANCE: f64 = 0.01;
/// Shortest one-way time over an interface: a NIC is reached over PCI Express, whose round trip alone takes a few
/// hundred nanoseconds, and a virtual one through system calls of both sides. Half round trips below 500 ns have not
/// been published for any NIC.
pub const FLOOR_INTERFACE_NANOS: u64 = 200;
/// Shortest one-way time through memory: a cache line takes longer from one core to another.
pub const FLOOR_MEMORY_NANOS: u64 = 5;

/// Rate in bits a second of the links that carried `posted`; nothing where that is not known of every rail. The
/// rate that a virtual interface states is no limit, so only rails on a PCI device count.
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

/// A side that posted more payload than its links can carry.
pub(super) fn above_line_rate(
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
        let line = line_rate(endpoints.of(case, rank)?, posted)?;
        let rate = posted.payload_bytes as f64 * 8e9 / posted.elapsed_nanos.max(1) as f64;
        (rate > line * (1.0 + LINE_RATE_TOLERANCE)).then_some(Invalid::AboveLineRate {
            measured_bits_per_second: rate as u64,
            line_bits_per_second: line as u64,
        })
    })
}

/// A ping-pong whose median is shorter than a message takes. Transfers have no such floor: an injected send is
/// complete, for its sender, once it is copied.
pub(super) fn below_floor(
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
    let facts = endpoints.of(case, case.initiator);
    let interface = facts.is_some_and(|facts| facts.rails.iter().any(|rail| rail.interface.is_some()));
    let (mut floor_nanos, mut floor) = match interface {
        true => (
            FLOOR_INTERFACE_NANOS,
            "the shortest way over an interface".to_owned(),
        ),
        false => (FLOOR_MEMORY_NANOS, "the shortest way through memory".to_owned()),
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
