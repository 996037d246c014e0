//! Staleness of the parameters that parameter serving workers used, over all rounds and pairs.

use crds::assignment::{Delivery, ServingWorkload};
use crds::record::{DatagramReport, Measurement, ServingReport, WorkerReport};
use crds::v1alpha1::ManyToMany;
use serde::Serialize;

use crate::stats::Distribution;
use crate::workload::cell_cases::CellCases;

/// Staleness of one arm at one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Serving {
    /// Version lags at all steps of all workers.
    pub version_lag: Distribution,
    /// Mean version lag over all steps of all workers; `None` if no worker received a version.
    pub mean_version_lag: Option<f64>,
    /// Time lags at all steps of all workers, in nanoseconds.
    pub time_lag: Distribution,
    /// Number of published versions.
    pub published: u64,
    /// Number of versions that a trainer which is never late would have published.
    pub due_versions: u64,
    /// For each version that the trainer delivered to all workers, the time from its publication to the completion of
    /// the delivery, in nanoseconds. Empty in `Pull` mode.
    pub pushes: Distribution,
    /// Number of published versions that were not delivered to all workers; `None` in `Pull` mode.
    pub not_delivered_to_all: Option<u64>,
    /// Bytes that the trainer delivers for one version, divided by the median of `pushes`, per second.
    pub push_bytes_per_second: Option<f64>,
    /// Durations of fetches that returned a newer version, in nanoseconds. Empty except in `Filesystem` and `Pull`
    /// modes.
    pub pulls: Distribution,
    /// Mean store lag, in versions, over all posts that cover a step with a version, of all workers.
    pub store_lag: Option<f64>,
    /// Mean post lag, in versions, over the same posts.
    pub post_lag: Option<f64>,
    /// Mean over all posts of the staleness that the original benchmark computes, in versions.
    pub original_staleness: Option<f64>,
    /// Each worker of a trainer, by number, over all rounds and trainers. For the many-to-many pattern, the workers of
    /// the first receiver come first.
    pub workers: Vec<ServingWorker>,
    /// Number of steps that workers ran before they received their first version.
    pub cold_steps: u64,
    /// Longest time until a worker received its first version, in nanoseconds.
    pub cold_nanos: u64,
    /// Number of torn versions.
    pub torn: u64,
    /// Datagram counts, summed over all workers; `None` except in `Multicast` mode.
    pub datagrams: Option<DatagramReport>,
    /// Largest error bound of times measured across the two clocks, in nanoseconds; 0 if both sides use the same clock.
    pub clock_bound_nanos: u64,
}

/// Staleness of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServingWorker {
    /// Number of valid cases in which the worker had no version at any step.
    pub cases_without_version: u32,
    /// Number of versions that the worker used.
    pub versions: u64,
    /// Number of steps with a version.
    pub steps: u64,
    /// Number of steps before the first version.
    pub cold_steps: u64,
    /// Sum of the version lags at all steps.
    pub version_lag_sum: u64,
    /// Lags; `None` if the worker had no version in any case.
    pub lags: Option<WorkerLags>,
    /// Number of torn versions.
    pub torn: u64,
    /// Number of datagrams that did not arrive.
    pub datagrams_lost: u64,
}

/// Lags of one worker at its steps with a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerLags {
    /// Largest median of the version lag in a case.
    pub version_p50: u64,
    /// Largest 99th percentile of the version lag in a case.
    pub version_p99: u64,
    /// Largest version lag.
    pub version_max: u64,
    /// Largest median of the time lag in a case, in nanoseconds.
    pub time_p50_nanos: u64,
    /// Largest 99th percentile of the time lag in a case, in nanoseconds.
    pub time_p99_nanos: u64,
    /// Largest time lag, in nanoseconds.
    pub time_max_nanos: u64,
}

impl ServingWorker {
    fn add(&mut self, report: &WorkerReport) {
        self.versions += report.versions;
        self.steps += report.steps;
        self.cold_steps += report.cold_steps;
        self.version_lag_sum += report.version_lag_sum;
        if report.steps > 0 {
            let lags = self.lags.get_or_insert_default();
            lags.version_p50 = lags.version_p50.max(report.version_lag_p50);
            lags.version_p99 = lags.version_p99.max(report.version_lag_p99);
            lags.version_max = lags.version_max.max(report.version_lag_max);
            lags.time_p50_nanos = lags.time_p50_nanos.max(report.time_lag_p50_nanos);
            lags.time_p99_nanos = lags.time_p99_nanos.max(report.time_lag_p99_nanos);
            lags.time_max_nanos = lags.time_max_nanos.max(report.time_lag_max_nanos);
        } else {
            self.cases_without_version += 1;
        }
        self.torn += report.torn;
        self.datagrams_lost += report.datagrams.map_or(0, |datagrams| datagrams.lost);
    }

    /// Mean version lag; `None` if there are no steps.
    pub fn mean_version_lag(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.version_lag_sum as f64 / self.steps as f64)
    }
}

impl Serving {
    /// Largest mean version lag of a worker; `None` if no worker received a version.
    pub fn worst_worker_lag(&self) -> Option<f64> {
        let means = self.workers.iter().filter_map(ServingWorker::mean_version_lag);
        means.max_by(f64::total_cmp)
    }

    /// Number of workers that had no version at any step of at least one case.
    pub fn workers_without_version(&self) -> usize {
        let without = self
            .workers
            .iter()
            .filter(|worker| worker.cases_without_version > 0);
        without.count()
    }

    /// Adds a case whose first worker has the number `first`.
    fn add(&mut self, first: usize, times: &ServingReport) {
        self.version_lag.add(&times.version_lag, times.max_version_lag);
        self.time_lag.add_durations(&times.time_lag);
        times
            .pull
            .iter()
            .for_each(|pulls| self.pulls.add_durations(pulls));
        self.clock_bound_nanos = self.clock_bound_nanos.max(times.clock_bound_nanos);
        for (number, report) in (first..).zip(&times.workers) {
            if self.workers.len() <= number {
                self.workers.resize(number + 1, ServingWorker::default());
            }
            if let Some(worker) = self.workers.get_mut(number) {
                worker.add(report);
            }
            self.cold_steps += report.cold_steps;
            self.cold_nanos = self.cold_nanos.max(report.cold_nanos);
            self.torn += report.torn;
            if let Some(datagrams) = report.datagrams {
                add_datagrams(self.datagrams.get_or_insert_default(), datagrams);
            }
        }
    }
}

fn add_datagrams(sum: &mut DatagramReport, one: DatagramReport) {
    sum.sent += one.sent;
    sum.received += one.received;
    sum.duplicates += one.duplicates;
    sum.lost += one.lost;
    sum.incomplete_versions += one.incomplete_versions;
    sum.receive_buffer_bytes = sum.receive_buffer_bytes.max(one.receive_buffer_bytes);
}

/// Summarizes the valid cases of an arm at one size; `None` if there are none.
pub(super) fn serving(workload: &ServingWorkload, cell: &CellCases<'_>) -> Option<Serving> {
    let valid = cell.valid().map(|(case, measured)| (case.target, measured));
    of_cases(
        workload,
        cell.size_bytes,
        cell.many_to_many,
        &valid.collect::<Vec<_>>(),
    )
}

/// Summarizes cases of an arm at one size, each with the rank of its target; `None` if there are no cases.
fn of_cases(
    workload: &ServingWorkload,
    size_bytes: u64,
    many_to_many: Option<ManyToMany>,
    cases: &[(u32, &Measurement)],
) -> Option<Serving> {
    let mut serving = Serving::default();
    let mut any = false;
    for (target, measured) in cases {
        let Some(times) = measured.target.serving.as_deref() else {
            continue;
        };
        any = true;
        let receiver = many_to_many.map_or(0, |pattern| target.saturating_sub(pattern.senders));
        serving.add((receiver * workload.workers) as usize, times);
        if receiver > 0 {
            // All flows of a trainer share its versions and push times, and the first flow reports them.
            continue;
        }
        serving.published += times.published;
        serving.due_versions += workload.nominal_nanos() / workload.push_nanos.max(1);
        if let Some(posted) = &measured.initiator.posted {
            serving.pushes.add_latencies(posted);
        }
    }
    if !any {
        return None;
    }
    if workload.delivery != Delivery::Pull {
        serving.not_delivered_to_all = Some(serving.published.saturating_sub(serving.pushes.count()));
    }
    let (steps, sum) = serving
        .workers
        .iter()
        .fold((0_u64, 0_u64), |(steps, sum), worker| {
            (steps + worker.steps, sum + worker.version_lag_sum)
        });
    serving.mean_version_lag = (steps > 0).then(|| sum as f64 / steps as f64);
    let receivers = many_to_many.map_or(1, |pattern| pattern.receivers);
    let copies = match workload.delivery {
        Delivery::Push => f64::from(workload.workers) * f64::from(receivers),
        Delivery::Filesystem { .. } | Delivery::Multicast(_) | Delivery::Pull => 1.0,
    };
    let median = serving.pushes.quantile(0.5).filter(|nanos| *nanos > 0);
    serving.push_bytes_per_second = median.map(|nanos| copies * size_bytes as f64 * 1e9 / nanos as f64);
    let reports = || {
        let times = cases
            .iter()
            .filter_map(|(_, measured)| measured.target.serving.as_deref());
        times.flat_map(|times| &times.workers)
    };
    let posted = || reports().filter_map(|worker| worker.posted);
    serving.store_lag = pooled(posted().map(|one| (one.posts, one.store_versions)));
    serving.post_lag = pooled(posted().map(|one| (one.posts, one.post_versions)));
    let original = reports().filter_map(|worker| worker.original);
    serving.original_staleness = pooled(original.map(|one| (one.posts, one.versions)));
    Some(serving)
}

/// Returns the mean over all posts, given the number and the mean of each worker's posts; `None` if there are no posts.
fn pooled(means: impl Iterator<Item = (u64, f64)>) -> Option<f64> {
    let (posts, sum) = means.fold((0, 0.0), |(posts, sum), (count, mean)| {
        (posts + count, sum + count as f64 * mean)
    });
    (posts > 0).then(|| sum / posts as f64)
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::record::{OriginalStaleness, Posted, PostedStaleness, SideReport};

    use super::*;

    fn histogram(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    fn worker(steps: u64, version_lag_sum: u64, posted: Option<PostedStaleness>) -> WorkerReport {
        WorkerReport {
            steps,
            version_lag_sum,
            cold_steps: 2,
            cold_nanos: version_lag_sum,
            posted,
            ..WorkerReport::default()
        }
    }

    fn case(workers: Vec<WorkerReport>, push_nanos: &[u64]) -> Measurement {
        let target = SideReport {
            serving: Some(Box::new(ServingReport {
                workers,
                published: 3,
                version_lag: histogram(&[0, 1]),
                ..ServingReport::default()
            })),
            ..SideReport::default()
        };
        let initiator = SideReport {
            posted: Some(Posted {
                latency: histogram(push_nanos),
                ..Posted::default()
            }),
            ..SideReport::default()
        };
        Measurement { initiator, target }
    }

    fn workload() -> ServingWorkload {
        ServingWorkload {
            delivery: Delivery::Push,
            workers: 2,
            push_nanos: 1,
            pull_nanos: 1,
            post_nanos: 1,
            step_nanos: 1,
            max_version: 1,
            max_time_nanos: 1,
        }
    }

    #[test]
    fn means_cover_all_steps_and_workers_are_summarized_separately() {
        let posted = |posts, store_versions| {
            Some(PostedStaleness {
                posts,
                store_versions,
                post_versions: 5.0,
            })
        };
        let cases = [
            case(
                vec![worker(10, 10, posted(3, 1.0)), worker(30, 120, None)],
                &[1000],
            ),
            case(
                vec![worker(10, 30, posted(1, 2.0)), worker(30, 0, None)],
                &[1000, 1000],
            ),
        ];
        let cases = cases.each_ref().map(|case| (1, case));
        let found = of_cases(&workload(), 500, None, &cases).unwrap();
        assert_eq!(found.mean_version_lag, Some(2.0));
        assert_eq!(found.worst_worker_lag(), Some(2.0));
        assert_eq!((found.cold_steps, found.cold_nanos), (8, 120));
        // Three posts with a lag of 1 and one with a lag of 2.
        assert_eq!((found.store_lag, found.post_lag), (Some(1.25), Some(5.0)));
        assert_eq!(found.original_staleness, None);
        // Six versions were published in two cases, and three of them were delivered to both workers.
        assert_eq!((found.published, found.not_delivered_to_all), (6, Some(3)));
        assert_eq!(found.due_versions, 2);
        // Two copies of 500 bytes in 1 us.
        assert_eq!(found.push_bytes_per_second, Some(1e9));
        assert_eq!((found.version_lag.count(), found.datagrams), (4, None));
        assert_eq!(of_cases(&workload(), 500, None, &[]), None);
    }

    #[test]
    fn workers_of_every_receiver_have_separate_numbers() {
        let workers = |lag| vec![worker(10, lag, None), worker(10, 2 * lag, None)];
        // Only the first flow of a trainer has the push times, which apply to all workers.
        let cases = [case(workers(10), &[1000]), case(workers(30), &[])];
        let cases = [(1, &cases[0]), (2, &cases[1])];
        let pattern = ManyToMany {
            senders: 1,
            receivers: 2,
        };
        let found = of_cases(&workload(), 500, Some(pattern), &cases).unwrap();
        // All flows share the versions, which are counted once.
        assert_eq!((found.published, found.not_delivered_to_all), (3, Some(2)));
        let lags: Vec<u64> = found
            .workers
            .iter()
            .map(|worker| worker.version_lag_sum)
            .collect();
        assert_eq!(lags, [10, 20, 30, 60]);
        // Four copies of 500 bytes in 1 us.
        assert_eq!(found.push_bytes_per_second, Some(2e9));
    }

    #[test]
    fn lags_of_a_worker_are_the_largest_of_all_cases() {
        let with_lags = |p50, p99, max| WorkerReport {
            version_lag_p50: p50,
            version_lag_p99: p99,
            version_lag_max: max,
            time_lag_p50_nanos: 10 * p50,
            time_lag_p99_nanos: 10 * p99,
            time_lag_max_nanos: 10 * max,
            ..worker(10, 10, None)
        };
        let cases = [
            case(vec![with_lags(1, 5, 6)], &[]),
            case(vec![with_lags(2, 3, 9)], &[]),
        ];
        let cases = cases.each_ref().map(|case| (1, case));
        let found = of_cases(&workload(), 500, None, &cases).unwrap();
        let expected = WorkerLags {
            version_p50: 2,
            version_p99: 5,
            version_max: 9,
            time_p50_nanos: 20,
            time_p99_nanos: 50,
            time_max_nanos: 90,
        };
        assert_eq!(found.workers[0].lags, Some(expected));
    }

    #[test]
    fn a_worker_without_a_version_has_no_lag() {
        let cases = [
            case(vec![worker(10, 10, None), worker(0, 0, None)], &[]),
            case(vec![worker(10, 10, None), worker(0, 0, None)], &[]),
        ];
        let cases = cases.each_ref().map(|case| (1, case));
        let found = of_cases(&workload(), 500, None, &cases).unwrap();
        assert_eq!(found.workers_without_version(), 1);
        assert_eq!(found.workers[1].lags, None);
        assert_eq!(found.workers[1].mean_version_lag(), None);
        assert_eq!(found.workers[0].lags, Some(WorkerLags::default()));
        assert_eq!(found.worst_worker_lag(), Some(1.0));
        // No version was delivered to all workers, so there is no push time.
        assert_eq!((found.pushes.count(), found.not_delivered_to_all), (0, Some(6)));
        // One case without a version is sufficient.
        let cases = [
            case(vec![worker(10, 10, None), worker(10, 0, None)], &[]),
            case(vec![worker(10, 10, None), worker(0, 0, None)], &[]),
        ];
        let cases = cases.each_ref().map(|case| (1, case));
        let found = of_cases(&workload(), 500, None, &cases).unwrap();
        assert_eq!(found.workers_without_version(), 1);
        assert_eq!(found.workers[1].lags, Some(WorkerLags::default()));
        let none = case(vec![worker(0, 0, None), worker(0, 0, None)], &[]);
        let found = of_cases(&workload(), 500, None, &[(1, &none)]).unwrap();
        assert_eq!((found.mean_version_lag, found.worst_worker_lag()), (None, None));
    }

    #[test]
    fn original_staleness_also_counts_workers_without_a_version() {
        let with_original = |posts, versions| WorkerReport {
            original: Some(OriginalStaleness { posts, versions }),
            ..worker(0, 0, None)
        };
        let one = case(vec![with_original(1, 9.0), with_original(3, 1.0)], &[]);
        let found = of_cases(&workload(), 500, None, &[(1, &one)]).unwrap();
        assert_eq!((found.store_lag, found.original_staleness), (None, Some(3.0)));
    }
}
