//! Calls of one arm with one payload: their report section, and the mean and deviation of all samples. Performs no I/O.

use crds::assignment::RpcWorkload;
use crds::record::{CallReport, Measurement};
use crds::v1alpha1::{CallCause, CallSection, RpcPattern, RpcPayload};
use serde::Serialize;

use crate::summarize::SectionOutcome;
use crate::workload::cell_cases::CellCases;

/// Calls of one arm with one payload, over all rounds and pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallSummary {
    /// Payload of the calls.
    pub payload: RpcPayload,
    /// Pattern of the calls.
    #[serde(skip)]
    pub pattern: RpcPattern,
    /// Section of the report that contains the calls.
    pub section: CallSection,
    /// Cause of the first failure, or reason that the calls were skipped; `None` for successful calls.
    pub cause: Option<CallCause>,
    /// Message of the first failure or of the first skipped case; `None` for successful calls.
    pub message: Option<String>,
    /// Number of calls in a sample.
    pub hops: u32,
    /// Whether the samples have intended start times, so that they include the time for which they waited for others.
    #[serde(skip)]
    pub is_open_loop: bool,
    /// Mean and deviation of the samples of all valid cases; `None` if there is no valid case.
    pub moments: Option<Moments>,
    /// Time of one reading of the clock, in nanoseconds: the longest of all workers; `None` if no worker reported it.
    pub clock_nanos: Option<f64>,
    /// Whether the calls of a closed loop take less time than one reading of the clock: their mean does, or their median,
    /// which a few slow calls do not raise.
    pub below_clock: bool,
    /// Largest increase in the proportional set size of the host and the extension during a case, in bytes; `None` if
    /// it was not measured.
    pub memory_growth_bytes: Option<u64>,
}

/// Mean and standard deviation of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moments {
    /// Number of samples.
    pub samples: u64,
    /// Mean in nanoseconds.
    pub mean_nanos: f64,
    /// Standard deviation with the divisor n - 1, in nanoseconds; `None` for a single sample.
    pub deviation_nanos: Option<f64>,
}

impl CallSummary {
    /// Mean divided by the number of calls in a sample, in nanoseconds; `None` in an open loop, or if the calls are below the
    /// clock.
    pub fn hop_nanos(&self) -> Option<f64> {
        Some(self.moments_of_calls()?.mean_nanos / f64::from(self.hops.max(1)))
    }

    /// Mean and deviation if they describe the calls: not in an open loop, where they depend on the rate, and not if the
    /// calls are below the clock. Values that compare calls with each other use these moments.
    pub fn moments_of_calls(&self) -> Option<Moments> {
        self.moments.filter(|_| !self.is_open_loop && !self.below_clock)
    }

    /// Whether a sample of `nanos` leaves less time for the calls than one reading of the clock. Never in an open loop,
    /// whose samples include waiting.
    pub fn is_below_clock(&self, nanos: f64) -> bool {
        let is_below = self.clock_nanos.is_some_and(|clock| is_below_clock(nanos, clock));
        is_below && !self.is_open_loop
    }

    /// Whether the mean of the samples or their median, `median_nanos`, is below the clock.
    fn takes_less_than_a_reading(&self, median_nanos: Option<u64>) -> bool {
        let mean = self.moments.map(|moments| moments.mean_nanos);
        let mut typical = mean.into_iter().chain(median_nanos.map(|nanos| nanos as f64));
        typical.any(|nanos| self.is_below_clock(nanos))
    }

    /// Time of one reading of the clock if the calls are below it, in nanoseconds.
    pub fn below_clock_nanos(&self) -> Option<f64> {
        self.clock_nanos.filter(|_| self.below_clock)
    }
}

/// Whether calls whose sample takes `nanos` take less time than one reading of the clock. A sample lasts from one reading
/// to the next, so its time contains one of them.
fn is_below_clock(nanos: f64, clock_nanos: f64) -> bool {
    nanos < 2.0 * clock_nanos
}

/// Summarizes the measured cases of an arm with one payload; `None` if no case was recorded.
pub(super) fn summary(rpc: &RpcWorkload, cell: &CellCases<'_>) -> Option<CallSummary> {
    let (first, _) = cell.cases.first()?;
    let needs_gpu = cell.scenario.assignment.needs_gpu();
    let SectionOutcome { section, problem } = SectionOutcome::new(needs_gpu, cell.cases);
    let (cause, message) = problem.unzip();
    let reports: Vec<(u64, &CallReport)> = cell.valid().filter_map(|(_, case)| calls_of(case)).collect();
    let moments = pooled_moments(&reports);
    let mut summary = CallSummary {
        payload: RpcPayload::with_size(first.size_bytes)?,
        pattern: rpc.pattern,
        section,
        cause,
        message,
        hops: rpc.hops,
        is_open_loop: rpc.open_loop.is_some(),
        moments,
        clock_nanos: cell.clock_nanos,
        below_clock: false,
        memory_growth_bytes: reports.iter().filter_map(|(_, report)| growth(report)).max(),
    };
    summary.below_clock = summary.takes_less_than_a_reading(cell.median_nanos);
    Some(summary)
}

fn calls_of(measured: &Measurement) -> Option<(u64, &CallReport)> {
    let posted = measured.initiator.posted.as_ref()?;
    Some((posted.operations, posted.call.as_ref()?))
}

fn growth(report: &CallReport) -> Option<u64> {
    Some(
        report
            .memory_after_bytes?
            .saturating_sub(report.memory_before_bytes?),
    )
}

/// Mean and deviation of all samples, computed from the values of each case.
fn pooled_moments(reports: &[(u64, &CallReport)]) -> Option<Moments> {
    let samples: u64 = reports.iter().map(|(count, _)| count).sum();
    if samples == 0 {
        return None;
    }
    let total: f64 = reports
        .iter()
        .map(|(count, report)| *count as f64 * report.mean_nanos)
        .sum();
    let mean = total / samples as f64;
    let squares = reports.iter().map(|(count, report)| {
        let within = report.deviation_nanos.unwrap_or(0.0).powi(2) * (*count as f64 - 1.0);
        within + *count as f64 * (report.mean_nanos - mean).powi(2)
    });
    let squares: f64 = squares.sum();
    Some(Moments {
        samples,
        mean_nanos: mean,
        deviation_nanos: (samples > 1).then(|| (squares / (samples as f64 - 1.0)).sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(mean_nanos: f64, deviation_nanos: Option<f64>) -> CallReport {
        CallReport {
            mean_nanos,
            deviation_nanos,
            ..CallReport::default()
        }
    }

    #[test]
    fn pooled_values_include_all_samples() {
        // Samples 1, 2, 3 and 10, 14: mean 6, squares 25 + 16 + 9 + 16 + 64 = 130, and 130 / 4 = 32.5.
        let (one, other) = (report(2.0, Some(1.0)), report(12.0, Some(8.0_f64.sqrt())));
        let moments = pooled_moments(&[(3, &one), (2, &other)]).unwrap();
        assert_eq!((moments.samples, moments.mean_nanos), (5, 6.0));
        assert!((moments.deviation_nanos.unwrap() - 32.5_f64.sqrt()).abs() < 1e-9);
        let single = report(7.0, None);
        assert_eq!(pooled_moments(&[(1, &single)]).unwrap().deviation_nanos, None);
        assert_eq!(pooled_moments(&[]), None);
    }

    #[test]
    fn calls_are_below_the_clock_if_less_than_a_reading_is_left() {
        // 31.4 ns with a reading of 26.5 ns leave 4.9 ns for the call.
        assert!(is_below_clock(31.4, 26.5));
        assert!(!is_below_clock(53.1, 26.5));
        assert!(!is_below_clock(10_000.0, 26.5));
    }

    #[test]
    fn slow_calls_do_not_lift_a_median_above_the_clock() {
        let call = |is_open_loop| CallSummary {
            payload: RpcPayload::SmallInt,
            pattern: RpcPattern::Call,
            section: CallSection::Successful,
            cause: None,
            message: None,
            hops: 1,
            is_open_loop,
            moments: pooled_moments(&[(2, &report(60.0, None))]),
            clock_nanos: Some(26.5),
            below_clock: false,
            memory_growth_bytes: None,
        };
        let closed = call(false);
        assert!(!closed.takes_less_than_a_reading(Some(60)));
        assert!(closed.takes_less_than_a_reading(Some(31)));
        assert_eq!(closed.moments_of_calls(), closed.moments);
        let below = CallSummary {
            below_clock: true,
            ..call(false)
        };
        assert_eq!(below.moments_of_calls(), None);
        assert!(!call(true).takes_less_than_a_reading(Some(31)));
    }
}
