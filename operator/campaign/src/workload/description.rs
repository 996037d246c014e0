//! Parts of the descriptions of workloads in plans.

use crds::assignment::{Extent, ScenarioAssignment, WorkloadProperties};
use crds::units::Duration;

use crate::format::{memory_kinds, pluralized};

/// Appends the memory, the polling and the length of the measurement to `what`. `noun` is one measured operation.
pub(super) fn with_extents(what: &str, scenario: &ScenarioAssignment, noun: &str) -> String {
    let workload = &scenario.workload;
    format!(
        "{what} · {}{} · {} after {} of warm-up",
        memory_kinds(scenario),
        polling(scenario),
        extent(workload.measured(), noun),
        extent(workload.warmup(), noun)
    )
}

/// Intended start times of an open loop; empty for a closed loop.
pub(super) fn open_loop(workload: &impl WorkloadProperties) -> String {
    workload.open_loop().map_or_else(String::new, |load| {
        let arrivals = format!("{:?}", load.arrivals).to_lowercase();
        let (rate, what) = (load.rate, workload.started());
        format!(" · open loop with {arrivals} arrivals at {rate} {what}/s per thread")
    })
}

/// How completions are polled; empty if the spec does not set it.
pub(super) fn polling(scenario: &ScenarioAssignment) -> String {
    scenario
        .polling
        .map_or_else(String::new, |polling| format!(" · {polling:?}"))
}

fn extent(extent: Extent, noun: &str) -> String {
    match extent {
        Extent::Iterations(count) => pluralized(count.into(), noun),
        Extent::DurationNanos(nanos) => duration(nanos),
        Extent::FillWindow {
            min_iterations,
            min_window_nanos,
        } => format!(
            "at least {} and {}",
            pluralized(min_iterations.into(), noun),
            duration(min_window_nanos)
        ),
    }
}

/// Formats a time in nanoseconds as in a spec.
pub(super) fn duration(nanos: u64) -> String {
    Duration(std::time::Duration::from_nanos(nanos)).to_string()
}
