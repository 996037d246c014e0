//! Readings of an interface while cases ran, and the traffic that they should contain. Performs no I/O.

use std::collections::BTreeMap;

use crds::interface_load::{COVERAGE, InterfaceLoad};
use crds::record::{InterfaceDelta, SideReport};

use super::expected_traffic::ExpectedTraffic;
use super::software;
use crate::collect::Case;

/// Readings of one interface while overlapping cases ran.
#[derive(Debug)]
pub(super) struct InterfaceReading {
    /// Name of the interface.
    pub interface: String,
    /// Description of the counts, for the reason given for the proof.
    pub counters: String,
    end_nanos: u64,
    /// Whether a case of the reading posts from both workers.
    both_post: bool,
    /// Sides of all cases whose control messages pass the coordinator's host; 0 on other hosts.
    control_sides: u64,
    /// Traffic of each case, by its index.
    pub cases: BTreeMap<usize, Traffic>,
}

/// Traffic that an interface was expected to carry, and the largest counts of a reading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    /// Bytes that the interface had to send.
    pub expected_sent: u64,
    /// Bytes that the interface had to receive.
    pub expected_received: u64,
    /// Bytes that the interface sent.
    pub counted_sent: u64,
    /// Bytes that the interface received.
    pub counted_received: u64,
    /// Packets that the interface sent and received; `None` if it does not count them.
    packets: Option<(u64, u64)>,
    /// All traffic that the cases may cause within the readings.
    possible: InterfaceLoad,
}

/// Bytes beyond those that the cases can have caused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    /// Direction with the larger excess.
    pub direction: &'static str,
    /// Bytes that the interface counted in this direction.
    pub counted: u64,
    /// Payload in this direction.
    pub payload: u64,
    /// Largest number of bytes that the cases can have caused.
    pub most: u64,
}

impl Excess {
    /// Larger of the excesses in both directions, each given as counted bytes, payload and largest explained bytes; `None`
    /// if neither direction has any.
    pub(super) fn find(sent: (u64, u64, u64), received: (u64, u64, u64)) -> Option<Self> {
        let excess = |direction, (counted, payload, most): (u64, u64, u64)| Self {
            direction,
            counted,
            payload,
            most,
        };
        [excess("sent", sent), excess("received", received)]
            .into_iter()
            .filter(|one| one.counted > one.most)
            .max_by_key(Self::bytes)
    }

    /// Bytes of other traffic.
    pub(super) fn bytes(&self) -> u64 {
        self.counted.saturating_sub(self.most)
    }

    /// Describes the excess of the counts of `interface`, and what to do.
    pub(super) fn message(&self, interface: &str) -> String {
        let Self {
            direction,
            counted,
            payload,
            most,
        } = self;
        let factor = match payload {
            0 => String::new(),
            _ => {
                let factor = *counted as f64 / *payload as f64;
                let digits = usize::from(factor < 100.0) + usize::from(factor < 10.0);
                format!(", {factor:.digits$} times the payload of {payload}")
            }
        };
        format!(
            "{interface} counted {counted} bytes {direction}{factor}; the payload, its headers and its acknowledgements explain \
             at most {most}, so the interface carried other traffic or repeated packets: stop that traffic, or use an \
             interface of its own"
        )
    }
}

impl Traffic {
    /// Whether the counts cover the payload.
    pub(super) fn covers(&self) -> bool {
        let covered = |counted: u64, expected: u64| counted as f64 >= expected as f64 * COVERAGE;
        covered(self.counted_sent, self.expected_sent)
            && covered(self.counted_received, self.expected_received)
    }

    fn excess(&self) -> Option<Excess> {
        let (sent, received) = self.packets.unzip();
        Excess::find(
            (
                self.counted_sent,
                self.expected_sent,
                self.possible.most_sent(sent),
            ),
            (
                self.counted_received,
                self.expected_received,
                self.possible.most_received(received),
            ),
        )
    }

    /// Traffic of both, with the larger counts.
    fn plus(self, other: &Self) -> Self {
        let larger = |(a, b): (u64, u64), (c, d): (u64, u64)| (a.max(c), b.max(d));
        Self {
            expected_sent: self.expected_sent + other.expected_sent,
            expected_received: self.expected_received + other.expected_received,
            counted_sent: self.counted_sent.max(other.counted_sent),
            counted_received: self.counted_received.max(other.counted_received),
            packets: self.packets.zip(other.packets).map(|(one, two)| larger(one, two)),
            possible: self.possible.plus(other.possible),
        }
    }
}

impl InterfaceReading {
    /// Payloads of all cases, and the largest reading of any of them. On the coordinator's host, the control messages of all
    /// workers are included.
    ///
    /// The warm-up of a case precedes its own readings, but not those of cases that run at the same time. If both workers
    /// post, that of the target does not precede the initiator's readings either, because the initiator reads its counters
    /// when its own warm-up has ended. Such a warm-up counts as if it were as long as the measurement.
    pub(super) fn total(&self) -> Traffic {
        let mut cases = self.cases.values();
        let first = cases.next().copied().unwrap_or_default();
        let mut total = cases.fold(first, Traffic::plus);
        if self.both_post || self.cases.len() > 1 {
            total.possible = total.possible.plus(total.possible.without_sides());
        }
        total.possible.sides = total.possible.sides.max(self.control_sides);
        total
    }

    /// Bytes beyond those that the cases can have caused; `None` if there are none.
    pub(super) fn excess(&self) -> Option<Excess> {
        self.total().excess()
    }
}

/// One side of a case, with the traffic that is expected of it.
pub(super) struct ReadSide<'a> {
    /// Index of the case.
    pub index: usize,
    /// The case.
    pub case: &'a Case,
    /// Report of the side.
    pub side: &'a SideReport,
    /// Traffic that is expected of the side.
    pub expected: &'a ExpectedTraffic,
    /// Sides of all cases that start together, if the side is on the coordinator's host; 0 otherwise.
    pub control_sides: u64,
    /// Whether both workers post.
    pub both_post: bool,
}

/// Adds `delta` to the reading that overlaps its case, or to a new one.
pub(super) fn add(readings: &mut Vec<InterfaceReading>, read: &ReadSide<'_>, delta: &InterfaceDelta) {
    let ReadSide {
        index,
        case,
        side,
        expected,
        control_sides,
        both_post,
    } = read;
    let end_nanos = case.started_nanos + delta.interval_nanos.max(side.window_nanos);
    let overlapping = readings
        .iter_mut()
        .find(|reading| case.started_nanos < reading.end_nanos);
    let reading = match overlapping {
        Some(reading) => reading,
        None => {
            readings.push(InterfaceReading {
                interface: delta.name.clone(),
                counters: software::counters(delta),
                end_nanos,
                both_post: false,
                control_sides: *control_sides,
                cases: BTreeMap::new(),
            });
            let Some(reading) = readings.last_mut() else {
                return;
            };
            reading
        }
    };
    reading.end_nanos = reading.end_nanos.max(end_nanos);
    reading.both_post |= both_post;
    reading.control_sides = reading.control_sides.max(*control_sides);
    let (counted_sent, counted_received) = software::counted_bytes(delta);
    let traffic = Traffic {
        expected_sent: expected.sent_on(&delta.rails),
        expected_received: expected.received_on(&delta.rails),
        counted_sent,
        counted_received,
        packets: delta.tx_packets.zip(delta.rx_packets),
        possible: expected.load_on(&delta.rails, delta.interval_nanos),
    };
    reading
        .cases
        .entry(*index)
        .and_modify(|known| *known = known.plus(&traffic))
        .or_insert(traffic);
}
