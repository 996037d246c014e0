//! Makes a measured case fit a line without losing a number that verdicts need: neighbouring interfaces are counted
//! together, histograms get fewer figures. Smallest and largest latency, percentiles of kept samples, posting
//! counters and sums of bytes stay exact. Pure.

use crds::record::{CaseRecord, CaseResult, InterfaceDelta, MAX_LINE_BYTES, Measurement, SideReport};

/// One thing that makes the record of a measured case shorter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// At most so many interfaces a side.
    Interfaces(usize),
    /// Histograms of so many significant figures.
    Figures(u8),
}

/// In the order in which they are tried. After the last one two sides that post over 64 rails take at most 5.4 KB for
/// counters by rail, 4.8 KB for interfaces, 3 KB for histograms and 2 KB for the rest, so that every case fits.
pub(super) const STEPS: [Step; 4] = [
    Step::Interfaces(16),
    Step::Figures(2),
    Step::Interfaces(8),
    Step::Figures(1),
];

/// Applies `step`; says what it did, and nothing where it changed nothing.
pub(super) fn shorten(case: &mut CaseRecord, step: Step) -> Option<String> {
    let CaseResult::Measured(measured) = &mut case.result else {
        return None;
    };
    let Measurement { initiator, target } = &mut **measured;
    let mut changed = false;
    for side in [initiator, target] {
        changed |= match step {
            Step::Interfaces(most) => join_interfaces(side, most),
            Step::Figures(figures) => coarsen(side, figures),
        };
    }
    let what = match step {
        Step::Interfaces(most) => format!("interfaces are counted together, {most} groups a side"),
        Step::Figures(figures) => format!("latency histograms have {figures} significant figures"),
    };
    changed.then(|| {
        format!(
            "cases of {} bytes of scenario {} do not fit a line of {MAX_LINE_BYTES} bytes: their {what}",
            case.size_bytes, case.scenario
        )
    })
}

fn coarsen(side: &mut SideReport, figures: u8) -> bool {
    let Some(posted) = &mut side.posted else {
        return false;
    };
    posted.latency = posted.latency.coarse(figures);
    true
}

/// Makes groups of neighbours, as large as one another as far as that goes.
fn join_interfaces(side: &mut SideReport, most: usize) -> bool {
    if side.interfaces.len() <= most {
        return false;
    }
    let group = side.interfaces.len().div_ceil(most);
    side.interfaces = side.interfaces.chunks(group).filter_map(join).collect();
    true
}

fn join(group: &[InterfaceDelta]) -> Option<InterfaceDelta> {
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
