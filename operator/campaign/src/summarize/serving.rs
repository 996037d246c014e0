//! Staleness of the parameters that the workers of parameter serving used, over all rounds and pairs.

use crds::assignment::{Delivery, ServingWorkload};
use crds::record::{DatagramReport, PostedStaleness, WorkerReport};
use serde::Serialize;

use super::rounds::Rounds;
use crate::collect::{Measured, ServingTimes};
use crate::stats::Distribution;

/// Staleness of one arm at one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Serving {
    /// Version lags at all steps of all workers.
    pub version_lag: Distribution,
    /// Mean of these version lags.
    pub mean_version_lag: f64,
    /// Time lags at all steps of all workers, in nanoseconds.
    pub time_lag: Distribution,
    /// Times from the publication of a version to its delivery by the trainer, in nanoseconds. Empty in mode Pull.
    pub pushes: Distribution,
    /// Bytes delivered per second of this time, at its median.
    pub push_bytes_per_second: Option<f64>,
    /// Durations of fetches that returned a newer version, in nanoseconds. Empty except in modes Filesystem and Pull.
    pub pulls: Distribution,
    /// Means over all workers of the staleness that the trainer computes from their posts.
    pub posted: Option<PostedStaleness>,
    /// Each worker, by number, over all rounds and pairs.
    pub workers: Vec<ServingWorker>,
    /// Number of steps before the first version of a worker.
    pub cold_steps: u64,
    /// Longest time until the first version of a worker, in nanoseconds.
    pub cold_nanos: u64,
    /// Number of torn versions.
    pub torn: u64,
    /// Sums of the counts of datagrams over all workers; `None` except in mode Multicast.
    pub datagrams: Option<DatagramReport>,
    /// Largest bound of the error of times between two clocks, in nanoseconds.
    pub clock_bound_nanos: u64,
}

/// Staleness of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServingWorker {
    /// Number of versions that it used.
    pub versions: u64,
    /// Number of steps with a version.
    pub steps: u64,
    /// Number of steps before the first version.
    pub cold_steps: u64,
    /// Sum of the version lags at all steps.
    pub version_lag_sum: u64,
    /// Largest 99th percentile of the version lag in a case.
    pub version_lag_p99: u64,
    /// Largest version lag.
    pub version_lag_max: u64,
    /// Largest 99th percentile of the time lag in a case, in nanoseconds.
    pub time_lag_p99_nanos: u64,
    /// Largest time lag, in nanoseconds.
    pub time_lag_max_nanos: u64,
    /// Number of torn versions.
    pub torn: u64,
    /// Number of datagrams that did not arrive.
    pub datagrams_lost: u64,
}

impl ServingWorker {
    fn add(&mut self, report: &WorkerReport) {
        self.versions += report.versions;
        self.steps += report.steps;
        self.cold_steps += report.cold_steps;
        self.version_lag_sum += report.version_lag_sum;
        self.version_lag_p99 = self.version_lag_p99.max(report.version_lag_p99);
        self.version_lag_max = self.version_lag_max.max(report.version_lag_max);
        self.time_lag_p99_nanos = self.time_lag_p99_nanos.max(report.time_lag_p99_nanos);
        self.time_lag_max_nanos = self.time_lag_max_nanos.max(report.time_lag_max_nanos);
        self.torn += report.torn;
        self.datagrams_lost += report.datagrams.map_or(0, |datagrams| datagrams.lost);
    }

    /// Mean version lag; `None` without steps.
    pub fn mean_version_lag(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.version_lag_sum as f64 / self.steps as f64)
    }
}

impl Serving {
    /// Largest mean version lag of a worker.
    pub fn worst_worker_lag(&self) -> f64 {
        let means = self.workers.iter().filter_map(ServingWorker::mean_version_lag);
        means.fold(0.0, f64::max)
    }

    fn add(&mut self, times: &ServingTimes) {
        self.version_lag.merge(&times.version_lag);
        self.time_lag.merge(&times.time_lag);
        self.pulls.merge(&times.pull);
        self.clock_bound_nanos = self.clock_bound_nanos.max(times.clock_bound_nanos);
        for (number, report) in times.workers.iter().enumerate() {
            if self.workers.len() <= number {
                self.workers.push(ServingWorker::default());
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

/// Summarizes the valid cases of an arm at one size, by round; `None` if there are no cases.
pub(super) fn serving(workload: &ServingWorkload, size_bytes: u64, rounds: &Rounds<'_>) -> Option<Serving> {
    let mut serving = Serving::default();
    let mut any = false;
    for case in rounds.cases() {
        let Some(times) = case.target.serving.as_deref() else {
            continue;
        };
        any = true;
        serving.add(times);
        if let Some(posted) = &case.initiator.posted {
            serving.pushes.merge(&posted.latency);
        }
    }
    if !any {
        return None;
    }
    let (steps, sum) = serving
        .workers
        .iter()
        .fold((0_u64, 0_u64), |(steps, sum), worker| {
            (steps + worker.steps, sum + worker.version_lag_sum)
        });
    serving.mean_version_lag = if steps > 0 { sum as f64 / steps as f64 } else { 0.0 };
    let copies = match workload.delivery {
        Delivery::Push => f64::from(workload.workers),
        Delivery::Filesystem { .. } | Delivery::Multicast(_) | Delivery::Pull => 1.0,
    };
    let median = serving.pushes.quantile(0.5).filter(|nanos| *nanos > 0);
    serving.push_bytes_per_second = median.map(|nanos| copies * size_bytes as f64 * 1e9 / nanos as f64);
    serving.posted = posted_means(rounds.cases());
    Some(serving)
}

fn posted_means<'a>(cases: impl Iterator<Item = &'a Measured>) -> Option<PostedStaleness> {
    let mut sum = PostedStaleness::default();
    let mut count = 0_u32;
    let workers = cases.filter_map(|case| case.target.serving.as_deref());
    for posted in workers
        .flat_map(|times| &times.workers)
        .filter_map(|worker| worker.posted)
    {
        count += 1;
        sum.store_versions += posted.store_versions;
        sum.post_versions += posted.post_versions;
        sum.original_versions += posted.original_versions;
    }
    (count > 0).then(|| PostedStaleness {
        store_versions: sum.store_versions / f64::from(count),
        post_versions: sum.post_versions / f64::from(count),
        original_versions: sum.original_versions / f64::from(count),
    })
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;

    use super::*;
    use crate::collect::{Side, SidePosts};

    fn distribution(values: &[u64]) -> Distribution {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        Distribution::from(&histogram)
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

    fn case(workers: Vec<WorkerReport>, push_nanos: &[u64]) -> Measured {
        let target = Side {
            serving: Some(Box::new(ServingTimes {
                workers,
                version_lag: distribution(&[0, 1]),
                ..ServingTimes::default()
            })),
            ..Side::default()
        };
        let initiator = Side {
            posted: Some(SidePosts {
                latency: distribution(push_nanos),
                ..SidePosts::default()
            }),
            ..Side::default()
        };
        Measured { initiator, target }
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
    fn means_are_over_all_steps_and_workers_are_summarized_one_by_one() {
        let posted = |store_versions| {
            Some(PostedStaleness {
                store_versions,
                post_versions: 5.0,
                original_versions: 9.0,
            })
        };
        let cases = [
            case(vec![worker(10, 10, posted(1.0)), worker(30, 120, None)], &[1000]),
            case(
                vec![worker(10, 30, posted(2.0)), worker(30, 0, None)],
                &[1000, 1000],
            ),
        ];
        let mut rounds = Rounds::new(false);
        (1..)
            .zip(&cases)
            .for_each(|(round, case)| rounds.add(round, case));
        let found = serving(&workload(), 500, &rounds).unwrap();
        assert_eq!(found.mean_version_lag, 2.0);
        assert_eq!(found.worst_worker_lag(), 2.0);
        assert_eq!((found.cold_steps, found.cold_nanos), (8, 120));
        let posted = found.posted.unwrap();
        assert_eq!((posted.store_versions, posted.post_versions), (1.5, 5.0));
        // Two copies of 500 bytes in 1 us.
        assert_eq!(found.push_bytes_per_second, Some(1e9));
        assert_eq!((found.version_lag.count(), found.datagrams), (4, None));
        assert_eq!(serving(&workload(), 500, &Rounds::new(false)), None);
    }
}
