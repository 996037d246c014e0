//! Observations in addition to the latencies and rates of the operations: the mean round trip of a ping-pong, the two
//! directions of a bidirectional transfer, flushes, pings, reads of written memory and first batches.

use crds::assignment::Workload;
use crds::record::Measurement;
use serde::Serialize;

use super::rounds::Rounds;
use crate::stats::Distribution;
use crate::workload::parameter_serving::summary::Serving;
use crate::workload::rules;

/// Observations of one arm at one size, over all rounds and pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observations {
    /// Mean round-trip time of a ping-pong, in nanoseconds: the median over the rounds, where the value of a round is
    /// the median over its pairs. `None` for transfers.
    pub mean_round_trip_nanos: Option<f64>,
    /// The two directions of a bidirectional transfer; `None` for other workloads.
    pub directions: Option<Directions>,
    /// Durations of flushes, in nanoseconds. Empty if no flushes were measured.
    pub flushes: Distribution,
    /// Round-trip times of pings on the idle fabric, in nanoseconds. Empty if no pings were measured.
    pub idle_pings: Distribution,
    /// Round-trip times of pings during transfers, in nanoseconds. Empty if no pings were measured.
    pub loaded_pings: Distribution,
    /// Latencies of reads of previously written memory, in nanoseconds. Empty if there were none.
    pub read_backs: Distribution,
    /// Duration of the first batch of a case, in nanoseconds: the median over the rounds, where the value of a round is
    /// the median over its pairs. `None` unless it is timed.
    pub first_batch_nanos: Option<f64>,
    /// Staleness in parameter serving; `None` for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
}

/// Throughput of the two directions of a bidirectional transfer, each timed by its sender. In a closed loop, each
/// direction is timed while both directions transfer. The values are medians over the rounds, where the value of a
/// round is the median over its pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Directions {
    /// Bytes per second from the initiator to the target.
    pub from_initiator: f64,
    /// Bytes per second from the target to the initiator.
    pub from_target: f64,
    /// The smaller of the two rates divided by the larger.
    pub balance: f64,
}

impl Directions {
    fn new(from_initiator: f64, from_target: f64) -> Self {
        Self {
            from_initiator,
            from_target,
            balance: from_initiator.min(from_target) / from_initiator.max(from_target),
        }
    }
}

impl Observations {
    /// Longest flush, in nanoseconds; `None` if no flushes were measured.
    pub fn longest_flush(&self) -> Option<u64> {
        self.flushes.quantile(1.0)
    }

    /// Ratio of the 99th percentiles of pings during transfers and on the idle fabric, which shows head-of-line
    /// blocking; `None` if one of them has too few samples.
    pub fn blocking_ratio(&self) -> Option<f64> {
        let loaded = self.loaded_pings.tail_quantile(0.99)?;
        let idle = self.idle_pings.tail_quantile(0.99).filter(|nanos| *nanos > 0)?;
        Some(loaded as f64 / idle as f64)
    }
}

/// Summarizes the valid cases of an arm at one size, by round.
pub(super) fn observations(workload: &Workload, rounds: &Rounds<'_>) -> Observations {
    let mut observations = Observations::default();
    for posted in rounds.cases().filter_map(|case| case.initiator.posted.as_ref()) {
        if let Some(flush) = &posted.flush {
            observations.flushes.add_durations(flush);
        }
        if let Some(ping) = &posted.ping {
            observations.idle_pings.add_durations(&ping.idle);
            observations.loaded_pings.add_durations(&ping.loaded);
        }
        if let Some(read_back) = &posted.read_back {
            observations.read_backs.add_durations(read_back);
        }
    }
    observations.first_batch_nanos = rounds.median_of_pairs(first_batch_nanos);
    if rules(workload).measures_round_trips() {
        observations.mean_round_trip_nanos = rounds.median_of_pairs(mean_round_trip_nanos);
    }
    if workload.is_bidirectional() {
        observations.directions = directions(rounds);
    }
    observations
}

fn directions(rounds: &Rounds<'_>) -> Option<Directions> {
    let from_initiator = |case: &Measurement| case.initiator.posted.as_ref()?.payload_rate();
    let from_target = |case: &Measurement| case.target.posted.as_ref()?.payload_rate();
    Some(Directions::new(
        rounds.median_of_pairs(from_initiator)?,
        rounds.median_of_pairs(from_target)?,
    ))
}

fn first_batch_nanos(case: &Measurement) -> Option<f64> {
    Some(case.initiator.posted.as_ref()?.first_burst_nanos? as f64)
}

fn mean_round_trip_nanos(case: &Measurement) -> Option<f64> {
    let posted = case.initiator.posted.as_ref()?;
    let mean = posted.elapsed_nanos as f64 / posted.operations as f64;
    Some(mean).filter(|mean| mean.is_finite() && *mean > 0.0)
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::record::{Durations, PingReport, Posted, SideReport};

    use super::*;

    fn side(payload_bytes: u64, elapsed_nanos: u64) -> SideReport {
        SideReport {
            posted: Some(Posted {
                operations: 10,
                payload_bytes,
                elapsed_nanos,
                ..Posted::default()
            }),
            ..SideReport::default()
        }
    }

    fn case(initiator: SideReport, target: SideReport) -> Measurement {
        Measurement { initiator, target }
    }

    /// A round for each case.
    fn rounds(cases: &[Measurement]) -> Rounds<'_> {
        let mut rounds = Rounds::new(false);
        (1..).zip(cases).for_each(|(round, case)| rounds.add(round, case));
        rounds
    }

    fn durations(nanos: u64, samples: u64) -> Durations {
        let mut histogram = Histogram::new();
        (0..samples).for_each(|_| histogram.record(nanos));
        histogram.record(10 * nanos);
        Durations {
            histogram,
            min_nanos: nanos,
            max_nanos: 10 * nanos,
        }
    }

    fn distribution(nanos: u64, samples: u64) -> Distribution {
        let mut distribution = Distribution::default();
        distribution.add_durations(&durations(nanos, samples));
        distribution
    }

    #[test]
    fn balance_is_the_ratio_of_the_rates_beside_it() {
        let cases = [
            case(side(3000, 1_000), side(1000, 1_000)),
            case(side(1000, 1_000), side(1000, 500)),
            case(side(2000, 1_000), side(2000, 2_000)),
        ];
        let found = directions(&rounds(&cases)).unwrap();
        assert_eq!((found.from_initiator, found.from_target), (2e9, 1e9));
        // The ratios of the rounds are 3, 0.5 and 2.
        assert_eq!(found.balance, 0.5);
    }

    #[test]
    fn mean_round_trip_is_the_window_divided_by_the_round_trips() {
        let cases = [case(side(0, 50_000), SideReport::default())];
        assert_eq!(
            rounds(&cases).median_of_pairs(mean_round_trip_nanos),
            Some(5000.0)
        );
    }

    #[test]
    fn blocking_needs_enough_samples_in_both_states() {
        let pings = |idle, loaded| Observations {
            idle_pings: distribution(1000, idle),
            loaded_pings: distribution(200_000, loaded),
            ..Observations::default()
        };
        let ratio = pings(1000, 150).blocking_ratio().unwrap();
        assert!((ratio - 200.0).abs() < 1.0, "{ratio}");
        assert_eq!(pings(1000, 50).blocking_ratio(), None);
        assert_eq!(pings(0, 150).blocking_ratio(), None);
    }

    #[test]
    fn pings_and_flushes_of_all_rounds_are_merged() {
        let observed = || {
            let mut side = side(1000, 1000);
            if let Some(posted) = &mut side.posted {
                posted.flush = Some(durations(10, 1));
                posted.ping = Some(PingReport {
                    idle: durations(20, 2),
                    loaded: durations(30, 3),
                });
            }
            case(side, SideReport::default())
        };
        let cases = [observed(), observed()];
        let rounds = rounds(&cases);
        let workload = crds::assignment::CountedWorkload::workload(
            &crds::v1alpha1::LargeArray::default(),
            crds::assignment::Extent::Iterations(1),
        );
        let found = observations(&workload, &rounds);
        let counts = [&found.flushes, &found.idle_pings, &found.loaded_pings].map(Distribution::count);
        assert_eq!(counts, [4, 6, 8]);
        assert_eq!((found.mean_round_trip_nanos, found.directions), (None, None));
    }
}
