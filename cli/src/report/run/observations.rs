//! Text for values that are observed in addition to the metrics: round trips, directions, flushes, pings, flows, reads of
//! written memory, first batches, staleness and steps.

use campaign::format;
use campaign::stats::{Distribution, median_of};
use campaign::summarize::{CellSummary, CellView, Directions, FlowsSummary, Serving};
use crds::quantity::Observation as Observed;
use crds::v1alpha1::{Metric, StepTimes};

use crate::report::{Report, labels};

/// Kind of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObservationKind {
    /// Round trips of a ping-pong.
    RoundTrip,
    /// The two directions of a bidirectional transfer.
    Directions,
    /// Flow rates of the many-to-many pattern.
    Flows,
    /// Flushes after transfers.
    Flush,
    /// Pings on the idle fabric and during transfers.
    Pings,
    /// Reads of previously written memory.
    ReadBack,
    /// First batch of a case.
    FirstBatch,
    /// CPU time of batches between segments.
    Cpu,
    /// Version lag and time lag at the workers' steps.
    Staleness,
    /// Staleness that the trainer computes from posts.
    Posts,
    /// Deliveries by the trainer, and fetches by the workers.
    Deliveries,
    /// Steps before the first version, torn versions and lost datagrams.
    Excluded,
    /// Steps of transfers that a library creates, posts and completes in separate calls.
    Steps,
    /// Evidence about library settings.
    Settings,
}

impl ObservationKind {
    /// Returns the heading of a line or row.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::RoundTrip => "rtt",
            Self::Directions => "duplex",
            Self::Flows => "flows",
            Self::Flush => "flush",
            Self::Pings => "pings",
            Self::ReadBack => "reads",
            Self::FirstBatch => "first",
            Self::Cpu => "cpu",
            Self::Staleness => "stale",
            Self::Posts => "posts",
            Self::Deliveries => "delivery",
            Self::Excluded => "excluded",
            Self::Steps => "steps",
            Self::Settings => "settings",
        }
    }
}

/// One observation of one arm at one size.
pub(super) struct Observation<'a> {
    /// Kind of the observation.
    pub kind: ObservationKind,
    /// The arm's results at the size.
    pub view: CellView<'a>,
    /// Observed values, formatted as text.
    pub text: String,
}

/// Returns the observations in the scenario with index `scenario`, by size and arm.
pub(super) fn of_scenario<'a>(report: &Report<'a>, scenario: usize) -> Vec<Observation<'a>> {
    report.cells_of(scenario).flat_map(of_cell).collect()
}

fn of_cell(view: CellView<'_>) -> Vec<Observation<'_>> {
    let cell = view.cell;
    let serving = cell.observations.serving.as_ref();
    let texts = [
        (ObservationKind::RoundTrip, round_trip(cell)),
        (
            ObservationKind::Directions,
            cell.observations.directions.as_ref().map(directions),
        ),
        (ObservationKind::Flows, cell.flows.as_ref().and_then(flows)),
        (ObservationKind::Flush, flush(cell)),
        (ObservationKind::Pings, pings(cell)),
        (ObservationKind::ReadBack, read_back(cell)),
        (ObservationKind::FirstBatch, first_batch(cell)),
        (ObservationKind::Cpu, cpu(cell)),
        (ObservationKind::Staleness, serving.map(staleness)),
        (ObservationKind::Posts, serving.and_then(posts)),
        (ObservationKind::Deliveries, serving.and_then(deliveries)),
        (ObservationKind::Excluded, serving.map(excluded_counts)),
        (ObservationKind::Steps, steps(cell)),
        (ObservationKind::Settings, settings(cell)),
    ];
    let texts = texts.into_iter();
    texts
        .filter_map(|(kind, text)| {
            Some(Observation {
                kind,
                view,
                text: text?,
            })
        })
        .collect()
}

fn nanos(value: u64) -> String {
    format::nanos(value as f64)
}

fn round_trip(cell: &CellSummary) -> Option<String> {
    let mean = cell.observations.mean_round_trip_nanos?;
    Some(format!(
        "mean {}, min {}, max {}; one way, mean {}",
        format::nanos(mean),
        nanos(cell.min_nanos? * 2),
        nanos(cell.max_nanos? * 2),
        format::nanos(mean / 2.0)
    ))
}

fn directions(found: &Directions) -> String {
    format!(
        "{} from the initiator, {} from the target, balance {:.3}",
        format::bytes_per_second(found.from_initiator),
        format::bytes_per_second(found.from_target),
        found.balance
    )
}

fn flows(found: &FlowsSummary) -> Option<String> {
    let mut rates = found.sorted_rates();
    let (slowest, fastest) = (*rates.first()?, *rates.last()?);
    let receivers = match found.receiver_range()? {
        _ if found.receivers.len() == 1 => String::new(),
        (slowest, fastest) => format!(
            "; receivers {} to {}",
            format::bytes_per_second(slowest),
            format::bytes_per_second(fastest)
        ),
    };
    Some(format!(
        "{} at the same time, {} to {}, median {}, fairness (Jain) {:.3}{receivers}",
        format::pluralized(found.flows.len() as u64, "flow"),
        format::bytes_per_second(slowest),
        format::bytes_per_second(fastest),
        format::bytes_per_second(median_of(&mut rates)?),
        found.fairness
    ))
}

fn flush(cell: &CellSummary) -> Option<String> {
    let flushes = cell.observations.durations(Observed::Flush)?;
    Some(format!(
        "p50 {}, max {} after the local completion of a message ({} flushes)",
        nanos(flushes.quantile(0.5)?),
        nanos(flushes.quantile(1.0)?),
        flushes.count()
    ))
}

/// Formats the 99th percentile, or explains why it is unknown.
fn p99(durations: Option<&Distribution>) -> String {
    let p99 = durations.and_then(|durations| durations.tail_quantile(0.99));
    p99.map_or_else(|| "unknown (too few samples)".to_owned(), nanos)
}

fn read_back(cell: &CellSummary) -> Option<String> {
    let reads = cell.observations.durations(Observed::ReadBack)?;
    Some(format!(
        "p50 {}, p99 {} from post to completion ({} reads)",
        nanos(reads.quantile(0.5)?),
        p99(Some(reads)),
        reads.count()
    ))
}

fn first_batch(cell: &CellSummary) -> Option<String> {
    let first = cell.observations.medians.get(&Observed::FirstBurst)?;
    Some(format!(
        "{} for the first batch of the warm-up, median over the rounds",
        format::nanos(*first)
    ))
}

/// CPU time of batches between segments; `None` for other workloads, whose results contain no time for the first batch.
fn cpu(cell: &CellSummary) -> Option<String> {
    cell.observations.medians.get(&Observed::FirstBurst)?;
    let per_gib = cell.metric(Metric::CpuSecondsPerGib)?.median;
    Some(format!(
        "{} on both sides, {:.0} % of one CPU",
        labels::metric_value(Metric::CpuSecondsPerGib, per_gib),
        cell.cpu_percent?
    ))
}

fn pings(cell: &CellSummary) -> Option<String> {
    let found = &cell.observations;
    let (idle, loaded) = (
        found.durations(Observed::PingIdle),
        found.durations(Observed::PingLoaded),
    );
    idle.or(loaded)?;
    let count = |pings: Option<&Distribution>| pings.map_or(0, Distribution::count);
    let ratio = found
        .blocking_ratio()
        .map_or_else(String::new, |ratio| format!(", {ratio:.1} times as long"));
    Some(format!(
        "p99 {} idle ({} pings), {} during the messages ({} pings){ratio}",
        p99(idle),
        count(idle),
        p99(loaded),
        count(loaded)
    ))
}

/// Formats a tail quantile, or explains why it is unknown.
fn tail(distribution: &Distribution, text: impl Fn(u64) -> String) -> String {
    distribution
        .tail_quantile(0.99)
        .map_or_else(|| "unknown (too few steps)".to_owned(), text)
}

fn staleness(found: &Serving) -> String {
    let without = match (found.workers_without_version(), found.workers.len()) {
        (0, _) => String::new(),
        (without, all) => format!("; {without} of {all} workers had no version in at least one case"),
    };
    let Some((mean, worst)) = found.mean_version_lag.zip(found.worst_worker_lag()) else {
        return format!("no version{without}");
    };
    let (versions, times) = (&found.version_lag, &found.time_lag);
    let clock = match found.clock_bound_nanos {
        0 => String::new(),
        bound => format!(
            "; the offset between the clocks is known to within {}",
            nanos(bound)
        ),
    };
    format!(
        "mean {mean:.3} versions, p50 {}, p99 {}, max {} (worst worker: mean {worst:.3}); time p50 {}, p99 {}, max \
         {}{clock}{without}",
        versions.quantile(0.5).unwrap_or(0),
        tail(versions, |lag| lag.to_string()),
        versions.quantile(1.0).unwrap_or(0),
        nanos(times.quantile(0.5).unwrap_or(0)),
        tail(times, nanos),
        nanos(times.quantile(1.0).unwrap_or(0)),
    )
}

fn posts(found: &Serving) -> Option<String> {
    let lags = found
        .store_lag
        .zip(found.post_lag)
        .map(|(store, post)| format!("store lag {store:.3} versions, post lag {post:.3} versions"));
    let original = found
        .original_staleness
        .map(|versions| format!("the original benchmark would report {versions:.3}"));
    let parts: Vec<String> = [lags, original].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn deliveries(found: &Serving) -> Option<String> {
    let push = found.pushes.quantile(0.5).map(|median| {
        let max = found.pushes.quantile(1.0).unwrap_or(median);
        let rate = found.push_bytes_per_second.map(format::bytes_per_second);
        let rate = rate.map_or_else(String::new, |rate| format!(", {rate}"));
        format!("push p50 {}, max {}{rate}", nanos(median), nanos(max))
    });
    let complete = found.not_delivered_to_all.map(|missing| {
        format!(
            "{} of {} published versions were delivered to all workers",
            found.published - missing,
            found.published
        )
    });
    let pull = found.pulls.quantile(0.5).map(|median| {
        let max = found.pulls.quantile(1.0).unwrap_or(median);
        format!("pull p50 {}, max {}", nanos(median), nanos(max))
    });
    let parts: Vec<String> = [push, complete, pull].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Formats the mean times of the steps in a transfer. They were measured in round 0, so they are evidence and not
/// results.
fn steps(cell: &CellSummary) -> Option<String> {
    let mut all = StepTimes::default();
    for steps in cell
        .protocols
        .iter()
        .filter_map(|protocol| protocol.steps.as_ref())
    {
        all.add(steps);
    }
    let mean = |nanos: u64, transfers: u64| format::nanos(nanos as f64 / transfers as f64);
    let transfers = all.transfers;
    if transfers == 0 {
        return None;
    }
    let created = match all.creation_nanos {
        0 => "prepared in advance".to_owned(),
        nanos => format!("created in {}", mean(nanos, transfers)),
    };
    let reported = match all.reported_transfers {
        0 => "the library reported no times".to_owned(),
        reported => format!(
            "the library reports {} from post to completion, and {:.1} descriptors for each transfer",
            mean(1000 * all.reported_transfer_micros, reported),
            all.reported_descriptors as f64 / reported as f64
        ),
    };
    Some(format!(
        "{created}, posted in {}, complete after another {} (means of {transfers} transfers in round 0); {reported}",
        mean(all.post_nanos, transfers),
        mean(all.completion_nanos, transfers)
    ))
}

/// Whether the UCX settings in which the arm differs from the baseline took effect.
fn settings(cell: &CellSummary) -> Option<String> {
    let found = cell.settings.as_ref()?;
    Some(format!(
        "{}: {:?}, {}",
        found.settings.join(", "),
        found.engagement,
        found.reason
    ))
}

fn excluded_counts(found: &Serving) -> String {
    let mut text = format!(
        "{} steps before the first version (at most {}), {} torn versions",
        found.cold_steps,
        nanos(found.cold_nanos),
        found.torn
    );
    if let Some(datagrams) = &found.datagrams {
        text.push_str(&format!(
            ", {} of {} datagrams lost, {} duplicates, {} incomplete versions",
            datagrams.lost, datagrams.sent, datagrams.duplicates, datagrams.incomplete_versions
        ));
    }
    text
}
