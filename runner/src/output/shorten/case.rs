//! Shortens the record of a measured case to the line limit without losing values that verdicts need: neighboring
//! interfaces are merged, and histograms lose precision. Minimum and maximum latency, exact percentiles, posting counters
//! and byte totals stay exact. Pure.

use crds::record::{CaseRecord, CaseResult, InterfaceDelta, MAX_LINE_BYTES, Measurement, SideReport};

/// One reduction of the record of a measured case.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Merges interfaces to at most this number per side.
    Interfaces(usize),
    /// Reduces histograms to this number of significant digits.
    Digits(u8),
}

/// Reductions in the order in which they are tried. After the last one, two sides that post over 64 rails take at most
/// 5.4 KB for counters by rail, 4.8 KB for interfaces, 3 KB for histograms and 2 KB for the rest, so every case fits.
pub(super) const STEPS: [Step; 4] = [
    Step::Interfaces(16),
    Step::Digits(2),
    Step::Interfaces(8),
    Step::Digits(1),
];

/// Applies `step` and describes the reduction; `None` if nothing changed.
pub(super) fn shorten(case: &mut CaseRecord, step: Step) -> Option<String> {
    let CaseResult::Measured(measured) = &mut case.result else {
        return None;
    };
    let Measurement { initiator, target } = &mut **measured;
    let mut changed = false;
    for side in [initiator, target] {
        changed |= match step {
            Step::Interfaces(most) => merge_interfaces(side, most),
            Step::Digits(digits) => coarsen(side, digits),
        };
    }
    let reduction = match step {
        Step::Interfaces(most) => format!("interfaces are merged into {most} groups per side"),
        Step::Digits(digits) => format!("latency histograms are reduced to {digits} significant digits"),
    };
    changed.then(|| {
        format!(
            "cases of {} bytes of scenario {} exceed the line limit of {MAX_LINE_BYTES} bytes: their {reduction}",
            case.size_bytes, case.scenario
        )
    })
}

fn coarsen(side: &mut SideReport, digits: u8) -> bool {
    let Some(posted) = &mut side.posted else {
        return false;
    };
    posted.latency = posted.latency.coarse(digits);
    true
}

/// Merges neighboring interfaces into groups of equal size, except for the last one.
fn merge_interfaces(side: &mut SideReport, most: usize) -> bool {
    if side.interfaces.len() <= most {
        return false;
    }
    let group = side.interfaces.len().div_ceil(most);
    side.interfaces = side.interfaces.chunks(group).filter_map(merge).collect();
    true
}

fn merge(group: &[InterfaceDelta]) -> Option<InterfaceDelta> {
    let [first, .., _] = group else {
        return group.first().cloned();
    };
    let sum = |bytes: fn(&InterfaceDelta) -> u64| group.iter().map(bytes).fold(0, u64::saturating_add);
    Some(InterfaceDelta {
        name: format!("{} and {} more", first.name, group.len() - 1),
        rails: group.iter().flat_map(|delta| delta.rails.clone()).collect(),
        tx_bytes: sum(|delta| delta.tx_bytes),
        rx_bytes: sum(|delta| delta.rx_bytes),
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
