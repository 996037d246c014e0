//! What the threads of one side observed in a case, by observation of the catalogue. Performs no I/O.

use std::collections::BTreeMap;

use crds::quantity::{Combination, Observation};
use crds::record::{Durations, Observations, Observed};

use crate::measure::recorder::Recorder;

/// Observed values of one or several threads, by observation.
#[derive(Debug, Default)]
pub struct ThreadObservations(BTreeMap<Observation, Vec<Sampled>>);

/// Value that one thread observed.
#[derive(Debug)]
pub enum Sampled {
    /// Durations.
    Durations(Recorder),
    /// One duration, in nanoseconds.
    Nanos(u64),
}

impl Sampled {
    fn nanos(&self) -> Option<u64> {
        match self {
            Self::Nanos(nanos) => Some(*nanos),
            Self::Durations(_) => None,
        }
    }

    fn into_recorder(self) -> Option<Recorder> {
        match self {
            Self::Durations(recorder) => Some(recorder),
            Self::Nanos(_) => None,
        }
    }
}

impl ThreadObservations {
    /// Adds what a thread observed, if it observed anything.
    pub fn add(&mut self, observation: Observation, sampled: Option<Sampled>) {
        self.0.entry(observation).or_default().extend(sampled);
    }

    /// Adds the observations of another thread.
    pub fn merge(&mut self, other: Self) {
        for (observation, sampled) in other.0 {
            self.0.entry(observation).or_default().extend(sampled);
        }
    }

    /// Returns the recorders of an observation, by thread.
    pub fn recorders(&self, observation: Observation) -> impl Iterator<Item = &Recorder> {
        let sampled = self.0.get(&observation).into_iter().flatten();
        sampled.filter_map(|sampled| match sampled {
            Sampled::Durations(recorder) => Some(recorder),
            Sampled::Nanos(_) => None,
        })
    }

    /// Returns the samples of all threads.
    pub fn samples(&self, observation: Observation) -> impl Iterator<Item = u64> {
        self.recorders(observation).flat_map(Recorder::samples).copied()
    }

    /// Combines the threads. Observations without a sample are omitted.
    pub fn report(self) -> Observations {
        let combined = self.0.into_iter().filter_map(|(observation, sampled)| {
            let observed = match observation.definition().combination {
                Combination::LongestThread => {
                    let nanos = sampled.iter().filter_map(Sampled::nanos);
                    Observed::Nanos(nanos.max()?)
                }
                Combination::Distribution => {
                    let recorders = sampled.into_iter().filter_map(Sampled::into_recorder);
                    let durations = durations(recorders);
                    (durations.histogram.count() > 0).then_some(Observed::Distribution(durations))?
                }
            };
            Some((observation, observed))
        });
        combined.collect()
    }
}

/// Distribution of the samples in `recorders`.
pub(super) fn durations(recorders: impl IntoIterator<Item = Recorder>) -> Durations {
    let latency = Recorder::finish(recorders);
    Durations {
        histogram: latency.histogram,
        min_nanos: latency.min_nanos,
        max_nanos: latency.max_nanos,
    }
}
