//! Builds one side's report on a measured case from its threads' reports. Performs no I/O.

use std::collections::BTreeSet;

use crds::quantity::Observation;
use crds::record::{CallReport, CaseFailure, FailureReason, Posted, SideReport, Simultaneous};

use super::case::Case;
use super::engine::failure;
use super::observed::ThreadObservations;
use super::thread_report::{CallMeasurement, ThreadReport, ThreadWindow};
use crate::measure::recorder::Recorder;
use crate::posting::{counters, evidence};
use crate::transport::CallNames;

/// Builds one side's report from its threads' reports, which are ordered by thread number. The rails are divided into
/// `groups` groups, to which the threads are assigned round-robin.
///
/// # Errors
/// Returns an internal error if the report of thread 0 is missing.
pub(super) fn side_report(
    case: &Case<'_>,
    threads: Vec<ThreadReport>,
    groups: usize,
) -> Result<SideReport, CaseFailure> {
    let mut side = None;
    let mut posted: Option<Posted> = None;
    let (mut first_post, mut last_completion) = (u64::MAX, 0);
    let mut recorders = Vec::new();
    let mut observed = ThreadObservations::default();
    let mut calls = None;
    let mut footprint = None;
    let mut command = None;
    let mut extension_cpu_nanos = 0;
    let mut windows = Vec::new();
    let mut migrations = 0;
    for (number, thread) in threads.into_iter().enumerate() {
        side = side.or(thread.side);
        migrations += u64::from(thread.migrated);
        let Some((measurement, thread_counters)) = thread.measurement else {
            continue;
        };
        let posted = posted.get_or_insert_with(|| Posted {
            counters: counters::zeroed(thread_counters.bytes_per_rail.len() * groups),
            ..Posted::default()
        });
        posted.operations += measurement.operations;
        let group = number % groups;
        counters::add(&mut posted.counters, &counters::in_group(thread_counters, group));
        first_post = first_post.min(measurement.first_post);
        last_completion = last_completion.max(measurement.last_completion);
        if let Some(thread) = measurement.calls {
            calls = calls.or_else(|| call_report(&measurement.recorder, thread));
            extension_cpu_nanos += thread.extension_cpu_nanos;
        }
        footprint = footprint.or(measurement.footprint);
        command = command.or(measurement.command);
        recorders.push(measurement.recorder);
        observed.merge(measurement.observed);
        windows.extend(measurement.window);
        if let Some(thread) = measurement.open_loop {
            let all = posted.open_loop.get_or_insert_default();
            all.intended_nanos = all.intended_nanos.max(thread.intended_nanos);
            all.late += thread.late;
        }
    }
    let Some(mut side) = side else {
        let message = "the leader thread returned no report; this is a bug in fabricbench".to_owned();
        return Err(failure(FailureReason::Internal, message));
    };
    side.migrations = migrations;
    side.cpu_nanos += extension_cpu_nanos;
    side.posted = posted.map(|posted| {
        let read_backs = observed.recorders(Observation::ReadBack).cloned();
        let latency = Recorder::finish(recorders.into_iter().chain(read_backs));
        Posted {
            payload_bytes: posted.operations * case.size_bytes,
            elapsed_nanos: last_completion.saturating_sub(first_post),
            latency: latency.histogram,
            min_nanos: latency.min_nanos,
            max_nanos: latency.max_nanos,
            exclusive_quantiles: latency.exclusive_quantiles,
            call: calls,
            footprint,
            command,
            simultaneous: simultaneous(&windows, (first_post, last_completion), case.size_bytes),
            observations: observed.report(),
            ..posted
        }
    });
    Ok(side)
}

fn call_report(recorder: &Recorder, measured: CallMeasurement) -> Option<CallReport> {
    let (mean_nanos, deviation_nanos) = recorder.moments()?;
    Some(CallReport {
        mean_nanos,
        deviation_nanos,
        memory_before_bytes: measured.memory_before_bytes,
        memory_after_bytes: measured.memory_after_bytes,
    })
}

/// Computes the window of a flow, or of one direction of a bidirectional transfer, from the windows of its threads.
/// `posting` contains the times of the first post and of the last completion. Returns `None` if the threads have no
/// windows.
///
/// Every thread posts before, during and after its own window, so the rate is the sum of the threads' rates. The span
/// from the first opening to the last closing is not used, because it includes time in which a thread transferred data
/// outside its own window.
fn simultaneous(
    windows: &[ThreadWindow],
    (first_post, last_completion): (u64, u64),
    size_bytes: u64,
) -> Option<Simultaneous> {
    let opened = windows.iter().map(|window| window.opened).min()?;
    let closed = windows.iter().map(|window| window.closed).max()?;
    let operations = windows.iter().map(|window| window.operations).sum::<u64>();
    let rate: f64 = windows
        .iter()
        .map(|window| window.operations as f64 / window.length_nanos() as f64)
        .sum();
    let elapsed_nanos = match operations {
        0 => windows.iter().map(ThreadWindow::length_nanos).min()?,
        _ => (operations as f64 / rate).round() as u64,
    };
    Some(Simultaneous {
        operations,
        payload_bytes: operations * size_bytes,
        elapsed_nanos,
        lead_nanos: opened.saturating_sub(first_post),
        tail_nanos: last_completion.saturating_sub(closed),
    })
}

/// Returns the evidence lines that no earlier case of this size has reported, and adds them to `reported`.
pub(super) fn new_evidence(
    reported: &mut BTreeSet<(u64, String)>,
    case: &Case<'_>,
    side: &SideReport,
    names: CallNames,
    rails: u64,
) -> Vec<String> {
    let Some(posted) = side.posted.as_ref().filter(|posted| posted.command.is_none()) else {
        return Vec::new();
    };
    let lines = evidence::lines(
        &posted.counters,
        names,
        case.scenario.workload.operation(),
        case.arm.striping,
        case.size_bytes,
        rails,
    );
    let is_new = |line: &String| reported.insert((case.size_bytes, line.clone()));
    lines.into_iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(opened: u64, closed: u64, operations: u64) -> ThreadWindow {
        ThreadWindow {
            opened,
            closed,
            operations,
        }
    }

    /// Operations per nanosecond, as computed from the record.
    fn rate(windows: &[ThreadWindow]) -> f64 {
        let found = simultaneous(windows, (0, 4_000_000), 64).unwrap();
        assert_eq!(found.payload_bytes, 64 * found.operations);
        found.operations as f64 / found.elapsed_nanos as f64
    }

    #[test]
    fn flow_rate_is_the_sum_of_its_thread_rates() {
        // Two threads transfer at the same constant rate before, during and after their windows.
        let constant = |opened: u64| window(opened, opened + 1_000_000, 100_000);
        for opened in [0, 1, 500_000, 1_000_000, 2_500_000] {
            let rate = rate(&[constant(500_000), constant(opened)]);
            assert!((rate - 0.2).abs() < 1e-6, "{opened}: {rate}");
        }
        // The threads complete 0.1 and 0.25 operations per nanosecond.
        let rate = rate(&[window(0, 1_000_000, 100_000), window(700_000, 1_900_000, 300_000)]);
        assert!((rate - 0.35).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn rate_excludes_time_outside_the_windows() {
        let found = simultaneous(
            &[window(1_000, 5_000, 7), window(2_000, 6_000, 7)],
            (400, 9_000),
            8,
        );
        let expected = Simultaneous {
            operations: 14,
            payload_bytes: 112,
            elapsed_nanos: 4_000,
            lead_nanos: 600,
            tail_nanos: 3_000,
        };
        assert_eq!(found, Some(expected));
        assert_eq!(simultaneous(&[], (0, 1), 8), None);
    }
}
