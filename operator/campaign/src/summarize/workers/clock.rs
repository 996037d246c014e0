//! Clocks of the workers.

use crate::collect::Reports;

/// Longest time of one reading of the clock on all workers, in nanoseconds; `None` if no worker reported it.
pub(in crate::summarize) fn clock_nanos(reports: &Reports) -> Option<f64> {
    let hellos = reports.hellos.iter();
    let readings = hellos.map(|hello| hello.record.environment.clock.overhead_nanos);
    readings
        .filter(|nanos| *nanos > 0.0)
        .max_by(|one, other| one.total_cmp(other))
}
