//! Evidence for coalescing, which uses fewer rails for a transfer. The byte counters of the interfaces can confirm it
//! if every rail has a separate interface. Otherwise, only the runner's counters are available.

use std::collections::BTreeMap;

use crds::interface_load::COVERAGE;
use crds::record::{Measurement, PostingCounters};
use crds::v1alpha1::Engagement;

use crate::format;
use crate::plan::Cell;

/// Tolerated unrelated traffic on an interface that carries no transfers, as a fraction of the payload.
const IDLE_FRACTION: f64 = 0.01;
/// Tolerated unrelated traffic per case, such as address resolution, on an interface that carries no transfers, in
/// bytes.
const IDLE_BYTES: u64 = 64 * 1024;

/// Assesses coalescing. Threads on different GPUs use separate groups of `rails` rails.
pub(super) fn assess(
    planned: &Cell,
    baseline: Option<&Cell>,
    counters: &PostingCounters,
    valid: &[&Measurement],
    rails: u32,
) -> (Engagement, String) {
    let shape = |cell: &Cell| (cell.rails, cell.chunk_bytes, cell.last_chunk_bytes);
    let Some(baseline) = baseline.filter(|baseline| shape(baseline) != shape(planned)) else {
        let reason = format!(
            "same plan as the baseline: {}",
            format::pluralized(planned.rails, "rail")
        );
        return (Engagement::NotApplicable, reason);
    };
    let change = format!(
        "{} -> {}",
        format::pluralized(baseline.rails, "rail"),
        planned.rails
    );
    if counters.rails_planned != planned.rails {
        let reason = format!(
            "{change} was planned, but the runner striped over {} rails",
            counters.rails_planned
        );
        return (Engagement::NotEngaged, reason);
    }
    let used = counters.bytes_per_rail.iter().filter(|bytes| **bytes > 0).count() as u64;
    let groups = counters.bytes_per_rail.len() as u64 / u64::from(rails.max(1));
    let planned_rails = planned.rails * groups.max(1);
    if used < planned_rails {
        let reason = format!("{change} was planned, but only {used} rails carried bytes");
        return (Engagement::NotEngaged, reason);
    }
    let Some(interfaces) = interface_bytes_by_rail(counters.bytes_per_rail.len(), valid) else {
        let reason =
            format!("{change} according to the runner's counters; not every rail has its own interface");
        return (Engagement::RequestedOnly, reason);
    };
    if used > planned_rails {
        let reason = format!("{change}, but transfers rotate over the rails: all {used} rails carry bytes");
        return (Engagement::RequestedOnly, reason);
    }
    let payload: u64 = counters.bytes_per_rail.iter().sum();
    let idle = (payload as f64 * IDLE_FRACTION) as u64 + IDLE_BYTES * valid.len() as u64;
    let rails = counters.bytes_per_rail.iter().enumerate();
    let wrong = rails.clone().find_map(|(rail, posted)| {
        let counted = interfaces.get(&rail).copied().unwrap_or_default();
        let is_plausible = match posted {
            0 => counted <= idle,
            posted => counted as f64 >= *posted as f64 * COVERAGE,
        };
        (!is_plausible)
            .then(|| format!("rail {rail} posted {posted} bytes, but its interface counted {counted}"))
    });
    match wrong {
        Some(wrong) => (
            Engagement::NotEngaged,
            format!("{change} was planned, but {wrong}"),
        ),
        None => {
            let reason = format!("{change}: the interfaces of the other rails carried no payload");
            (Engagement::Confirmed, reason)
        }
    }
}

/// Bytes that the interface of each rail counted at the initiators, in both directions and over all cases. `None`
/// unless every rail has a separate interface.
fn interface_bytes_by_rail(rails: usize, valid: &[&Measurement]) -> Option<BTreeMap<usize, u64>> {
    let mut counted = BTreeMap::new();
    for measured in valid {
        for delta in &measured.initiator.interfaces {
            let [rail] = delta.rails.as_slice() else {
                return None;
            };
            *counted.entry(*rail as usize).or_insert(0) += delta.tx_bytes + delta.rx_bytes;
        }
    }
    (rails > 1 && counted.len() == rails).then_some(counted)
}

#[cfg(test)]
mod tests {

    use crds::record::{InterfaceDelta, SideReport};

    use super::*;

    fn cell(rails: u64) -> Cell {
        Cell {
            size_bytes: 32 << 10,
            arm: 0,
            rails,
            chunk_bytes: (32 << 10) / rails,
            last_chunk_bytes: (32 << 10) / rails,
            posts_per_burst: 1,
            more_per_burst: 0,
            optimizations: Vec::new(),
            role: None,
        }
    }

    fn counters(bytes_per_rail: &[u64], rails_planned: u64) -> PostingCounters {
        PostingCounters {
            rails_planned,
            bytes_per_rail: bytes_per_rail.to_vec(),
            ..PostingCounters::default()
        }
    }

    fn measurement(interfaces: &[(&str, &[u32], u64)]) -> Measurement {
        let delta = |(name, rails, tx_bytes): &(&str, &[u32], u64)| InterfaceDelta {
            name: (*name).into(),
            rails: rails.to_vec(),
            tx_bytes: *tx_bytes,
            rx_bytes: 0,
            tx_packets: None,
            rx_packets: None,
            software: None,
            retransmits: None,
            interval_nanos: 1,
            line_bits_per_second: None,
        };
        Measurement {
            initiator: SideReport {
                interfaces: interfaces.iter().map(delta).collect(),
                ..SideReport::default()
            },
            target: SideReport::default(),
        }
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn separate_interfaces_confirm_or_contradict_coalescing() {
        let own = |idle: u64| {
            measurement(&[
                ("a", &[0], 101 * MIB),
                ("b", &[1], 101 * MIB),
                ("c", &[2], idle),
                ("d", &[3], 0),
            ])
        };
        let posts = counters(&[100 * MIB, 100 * MIB, 0, 0], 2);
        let assess = |measured: &Measurement| assess(&cell(2), Some(&cell(4)), &posts, &[measured], 4).0;
        assert_eq!(assess(&own(1000)), Engagement::Confirmed);
        assert_eq!(assess(&own(50 * MIB)), Engagement::NotEngaged);
        let shared = measurement(&[("lo", &[0, 1, 2, 3], 400 * MIB)]);
        assert_eq!(assess(&shared), Engagement::RequestedOnly);
    }

    #[test]
    fn every_gpu_must_use_the_planned_number_of_rails() {
        let own = measurement(&[
            ("a", &[0], 101 * MIB),
            ("b", &[1], 0),
            ("c", &[2], 101 * MIB),
            ("d", &[3], 0),
        ]);
        let assess = |bytes: [u64; 4]| {
            let posts = counters(&bytes.map(|mib| mib * MIB), 1);
            assess(&cell(1), Some(&cell(2)), &posts, &[&own], 2).0
        };
        assert_eq!(assess([100, 0, 100, 0]), Engagement::Confirmed);
        assert_eq!(assess([100, 0, 0, 0]), Engagement::NotEngaged);
    }

    #[test]
    fn same_plan_is_not_applicable_and_striping_over_all_rails_is_not_engaged() {
        let posts = counters(&[MIB; 4], 4);
        let shared = measurement(&[("lo", &[0, 1, 2, 3], 4 * MIB)]);
        let same_plan = assess(&cell(4), Some(&cell(4)), &posts, &[&shared], 4);
        assert_eq!(same_plan.0, Engagement::NotApplicable);
        let all_rails = assess(&cell(2), Some(&cell(4)), &posts, &[&shared], 4);
        assert_eq!(all_rails.0, Engagement::NotEngaged);
    }
}
