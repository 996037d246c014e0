//! Measurement of one worker.

use super::clock_offset::Relation;
use super::staleness::Staleness;
use crate::measure::recorder::Recorder;

/// Measurement of one worker.
#[derive(Debug)]
pub struct WorkerMeasurement {
    /// Staleness of the worker.
    pub(super) staleness: Staleness,
    /// Number of published versions.
    pub(super) published: u64,
    /// Durations of fetches that returned a newer version.
    pub(super) pulls: Recorder,
    /// Relation between the clocks of the trainer and this worker.
    pub(super) relation: Relation,
}
