//! Builds one side's report on a parameter serving case. Performs no I/O.

use crds::assignment::{Delivery, Extent};
use crds::histogram::Histogram;
use crds::record::{CaseFailure, Durations, FailureReason, ServingReport, SideReport};

use super::clock_offset::Relation;
use super::publication::FlowDeliveries;
use super::worker_measurement::WorkerMeasurement;
use crate::measure::recorder::Recorder;
use crate::posting::counters;
use crate::scenario::case::{Case, Role};
use crate::scenario::engine::failure;
use crate::scenario::observed::durations;
use crate::scenario::side_report;
use crate::scenario::thread_report::ThreadReport;

/// Builds one side's report from its threads' reports. The initiator's operations are the versions that it delivered;
/// the target's operations are the versions that its workers used.
///
/// # Errors
/// Returns the errors of [`side_report::side_report`], and `FabricUnreachable` if the trainer sent datagrams to a group
/// and none of them arrived.
pub fn side_report(
    case: &Case<'_>,
    delivery: &Delivery,
    mut threads: Vec<ThreadReport>,
    groups: usize,
    deliveries: FlowDeliveries<'_>,
) -> Result<SideReport, CaseFailure> {
    let measurements = threads
        .iter_mut()
        .filter_map(|thread| thread.measurement.as_mut());
    let workers: Vec<WorkerMeasurement> = measurements
        .filter_map(|(measurement, _)| measurement.serving.take().map(|serving| *serving))
        .collect();
    let mut side = side_report::side_report(case, threads, groups)?;
    if case.role == Role::Target {
        let report = serving_report(delivery, workers);
        check_arrivals(delivery, &report)?;
        side.serving = Some(Box::new(report));
        return Ok(side);
    }
    if deliveries.are_absent() {
        side.posted = None;
    }
    if let Some(posted) = &mut side.posted {
        let mut recorder = Recorder::new(Extent::DurationNanos(0));
        for nanos in deliveries.times() {
            recorder.record(nanos);
        }
        posted.operations = deliveries.count();
        posted.payload_bytes = posted.operations * case.size_bytes;
        let latency = Recorder::finish([recorder]);
        posted.latency = latency.histogram;
        (posted.min_nanos, posted.max_nanos) = (latency.min_nanos, latency.max_nanos);
        posted.exclusive_quantiles = None;
        if !delivery.uses_fabric() {
            // The posts of the publication times are not payload.
            posted.counters = counters::zeroed(posted.counters.bytes_per_rail.len());
        }
    }
    Ok(side)
}

fn check_arrivals(delivery: &Delivery, report: &ServingReport) -> Result<(), CaseFailure> {
    let Delivery::Multicast(multicast) = delivery else {
        return Ok(());
    };
    let datagrams = || report.workers.iter().filter_map(|worker| worker.datagrams);
    let sent = datagrams().map(|one| one.sent).max().unwrap_or(0);
    if sent == 0 || datagrams().any(|one| one.received > 0) {
        return Ok(());
    }
    Err(failure(
        FailureReason::FabricUnreachable,
        format!(
            "none of the {sent} datagrams to {} arrived. Most cluster networks do not forward multicast between nodes: use a \
             network that does (parameterServing.multicast.interface), a relay, or the mode Push",
            multicast.destination
        ),
    ))
}

fn serving_report(delivery: &Delivery, workers: Vec<WorkerMeasurement>) -> ServingReport {
    let has_pulls = matches!(delivery, Delivery::Filesystem { .. } | Delivery::Pull);
    let mut report = ServingReport {
        same_clock: true,
        ..ServingReport::default()
    };
    let mut pulls = Vec::new();
    let mut min_time_lag = None;
    for worker in workers {
        let WorkerMeasurement {
            staleness,
            published,
            pulls: own_pulls,
            relation,
        } = worker;
        report.published = report.published.max(published);
        report.version_lag.merge(&staleness.version_lag);
        report.max_version_lag = report.max_version_lag.max(staleness.worker.version_lag_max);
        report.time_lag.histogram.merge(&staleness.time_lag);
        report.time_lag.max_nanos = report.time_lag.max_nanos.max(staleness.worker.time_lag_max_nanos);
        if staleness.worker.steps > 0 {
            let own = staleness.min_time_lag;
            min_time_lag = Some(min_time_lag.map_or(own, |known: u64| known.min(own)));
        }
        report.same_clock &= relation == Relation::Same;
        report.clock_bound_nanos = report.clock_bound_nanos.max(relation.bound_nanos());
        pulls.push(own_pulls);
        report.workers.push(staleness.worker);
    }
    report.time_lag.min_nanos = min_time_lag.unwrap_or(0);
    report.pull = has_pulls.then(|| durations(pulls)).filter(|pulls: &Durations| {
        let histogram: &Histogram = &pulls.histogram;
        histogram.count() > 0
    });
    report
}
