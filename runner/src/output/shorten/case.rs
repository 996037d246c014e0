//! Shortens a measured case's record to the line limit. Performs no I/O.
//!
//! The counters of neighboring interfaces are summed, and the precision of histograms is reduced. Values on which
//! verdicts depend remain exact: minimum and maximum latency, the percentiles recorded outside the histogram, posting
//! counters and byte totals.

use crds::record::{CaseRecord, CaseResult, InterfaceDelta, MAX_LINE_BYTES, Measurement, SideReport};

/// One reduction of a measured case's record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Sums the counters of neighboring interfaces, so that each side has at most this number of groups.
    Interfaces(usize),
    /// Reduces histograms to this number of significant digits.
    Digits(u8),
}

/// Reductions in the order in which they are applied.
///
/// After the last reduction, the reports of two sides that post over 64 rails take up at most 5.4 KB of per-rail
/// counters, 1.7 KB of interfaces, 5 KB of histograms (including those of pings or reads) and 2.9 KB of other values.
/// Therefore, no case exceeds the line limit.
pub(super) const STEPS: [Step; 6] = [
    Step::Interfaces(16),
    Step::Digits(2),
    Step::Interfaces(8),
    Step::Digits(1),
    Step::Interfaces(4),
    Step::Interfaces(2),
];

/// Applies `step` and returns a description of the reduction, or `None` if the record did not change.
pub(super) fn shorten(case: &mut CaseRecord, step: Step) -> Option<String> {
    let CaseResult::Measured(measured) = &mut case.result else {
        return None;
    };
    let Measurement { initiator, target } = &mut **measured;
    let mut changed = false;
    for side in [initiator, target] {
        changed |= match step {
            Step::Interfaces(max_groups) => merge_interfaces(side, max_groups),
            Step::Digits(digits) => coarsen(side, digits),
        };
    }
    let reduction = match step {
        Step::Interfaces(max_groups) => {
            format!("their interfaces are merged into {max_groups} groups per side")
        }
        Step::Digits(digits) => {
            format!("their latency histograms are reduced to {digits} significant digits")
        }
    };
    changed.then(|| {
        format!(
            "records of {}-byte cases of scenario {} exceed the line limit of {MAX_LINE_BYTES} bytes: {reduction}",
            case.size_bytes, case.scenario
        )
    })
}

fn coarsen(side: &mut SideReport, digits: u8) -> bool {
    let has_serving = side.serving.is_some();
    if let Some(serving) = &mut side.serving {
        let pulls = serving.pull.as_mut().map(|pulls| &mut pulls.histogram);
        for histogram in pulls.into_iter().chain([&mut serving.time_lag.histogram]) {
            *histogram = histogram.copy_with_figures(digits);
        }
    }
    let Some(posted) = &mut side.posted else {
        return has_serving;
    };
    posted.latency = posted.latency.copy_with_figures(digits);
    for durations in posted.observations.distributions_mut() {
        durations.histogram = durations.histogram.copy_with_figures(digits);
    }
    true
}

/// Sums the counters of neighboring interfaces in groups of equal size; the last group may be smaller.
fn merge_interfaces(side: &mut SideReport, max_groups: usize) -> bool {
    if side.interfaces.len() <= max_groups {
        return false;
    }
    let group = side.interfaces.len().div_ceil(max_groups);
    side.interfaces = side.interfaces.chunks(group).filter_map(merge_group).collect();
    true
}

fn merge_group(group: &[InterfaceDelta]) -> Option<InterfaceDelta> {
    let [first, .., _] = group else {
        return group.first().cloned();
    };
    let sum = |bytes: fn(&InterfaceDelta) -> u64| group.iter().map(bytes).fold(0, u64::saturating_add);
    Some(InterfaceDelta {
        name: format!("{} and {} more", first.name, group.len() - 1),
        rails: group.iter().flat_map(|delta| delta.rails.clone()).collect(),
        tx_bytes: sum(|delta| delta.tx_bytes),
        rx_bytes: sum(|delta| delta.rx_bytes),
        tx_packets: group.iter().map(|delta| delta.tx_packets).sum(),
        rx_packets: group.iter().map(|delta| delta.rx_packets).sum(),
        // Packet counts of several devices cannot be compared with a group's interface counters.
        software: None,
        retransmits: group.iter().map(|delta| delta.retransmits).sum(),
        interval_nanos: group
            .iter()
            .map(|delta| delta.interval_nanos)
            .max()
            .unwrap_or_default(),
        line_bits_per_second: group.iter().map(|delta| delta.line_bits_per_second).sum(),
    })
}

#[cfg(test)]
mod tests;
