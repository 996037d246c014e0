//! Observations in addition to the latencies and rates of the operations: the mean round trip of a ping-pong, the two
//! directions of a bidirectional transfer, flushes, pings, reads of written memory and first batches.

use std::collections::BTreeMap;

use crds::assignment::Workload;
use crds::quantity::{Combination, Observation, Source, Statistic};
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
    /// Durations of all rounds and pairs, by observation that has a distribution.
    pub durations: BTreeMap<Observation, Distribution>,
    /// Medians over the rounds in nanoseconds, by observation of a single time. The value of a round is the median over its
    /// pairs.
    pub medians: BTreeMap<Observation, f64>,
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
    /// Returns the durations that were observed; `None` if there are none.
    pub fn durations(&self, observation: Observation) -> Option<&Distribution> {
        self.durations
            .get(&observation)
            .filter(|durations| durations.count() > 0)
    }

    /// Returns a statistic of an observation, in nanoseconds.
    pub fn statistic(&self, source: Source) -> Option<f64> {
        if let Combination::LongestThread = source.observation.definition().combination {
            return self.medians.get(&source.observation).copied();
        }
        let durations = self.durations(source.observation)?;
        let nanos = match source.statistic {
            Statistic::Median => durations.quantile(0.5),
            Statistic::P99 => durations.tail_quantile(0.99),
            Statistic::Max => durations.quantile(1.0),
        };
        nanos.map(|nanos| nanos as f64)
    }

    /// Ratio of the 99th percentiles of pings during transfers and on the idle fabric, which shows head-of-line
    /// blocking; `None` if one of them has too few samples.
    pub fn blocking_ratio(&self) -> Option<f64> {
        let p99 = |state| self.durations(state)?.tail_quantile(0.99);
        let idle = p99(Observation::PingIdle).filter(|nanos| *nanos > 0)?;
        Some(p99(Observation::PingLoaded)? as f64 / idle as f64)
    }
}

/// Summarizes the valid cases of an arm at one size, by round.
pub(super) fn observations(workload: &Workload, rounds: &Rounds<'_>) -> Observations {
    let mut observations = Observations::default();
    for observation in Observation::ALL {
        let observed = rounds
            .cases()
            .filter_map(|case| Some(&case.initiator.posted.as_ref()?.observations));
        match observation.definition().combination {
            Combination::Distribution => observed
                .filter_map(|observed| observed.distribution(observation))
                .for_each(|durations| {
                    let all = observations.durations.entry(observation).or_default();
                    all.add_durations(durations);
                }),
            Combination::LongestThread => {
                let nanos =
                    |case: &Measurement| case.initiator.posted.as_ref()?.observations.nanos(observation);
                let median = rounds.median_of_pairs(|case| Some(nanos(case)? as f64));
                observations
                    .medians
                    .extend(median.map(|median| (observation, median)));
            }
        }
    }
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

fn mean_round_trip_nanos(case: &Measurement) -> Option<f64> {
    let posted = case.initiator.posted.as_ref()?;
    let mean = posted.elapsed_nanos as f64 / posted.operations as f64;
    Some(mean).filter(|mean| mean.is_finite() && *mean > 0.0)
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::record::{Durations, Observed, Posted, SideReport};

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
            durations: BTreeMap::from([
                (Observation::PingIdle, distribution(1000, idle)),
                (Observation::PingLoaded, distribution(200_000, loaded)),
            ]),
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
                let observed = [
                    (Observation::Flush, durations(10, 1)),
                    (Observation::PingIdle, durations(20, 2)),
                    (Observation::PingLoaded, durations(30, 3)),
                ];
                let observed = observed.map(|(observation, one)| (observation, Observed::Distribution(one)));
                posted.observations = observed.into_iter().collect();
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
        let states = [Observation::Flush, Observation::PingIdle, Observation::PingLoaded];
        let counts = states.map(|state| found.durations(state).map(Distribution::count));
        assert_eq!(counts, [Some(4), Some(6), Some(8)]);
        assert_eq!(found.durations(Observation::ReadBack), None);
        assert_eq!((found.mean_round_trip_nanos, found.directions), (None, None));
    }
}
