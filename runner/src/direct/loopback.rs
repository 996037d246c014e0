//! Measures between two processes of this machine. Starts a program.

use clap::Args;

use super::DirectError;
use super::connect::MeasurementFlags;

/// Flags for a measurement on one machine.
#[derive(Clone, Debug, Args)]
pub struct LoopbackFlags {
    /// Measurement and results.
    #[command(flatten)]
    pub measurement: MeasurementFlags,
}

/// Measures the scenarios between two processes, and prints and writes the results. Returns only on errors.
///
/// # Errors
/// Returns an error if the flags are invalid, or the measurement cannot be started.
pub fn loopback(flags: &LoopbackFlags) -> Result<(), DirectError> {
    flags.measurement.measure(None)
}
