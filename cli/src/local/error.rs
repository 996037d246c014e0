//! Errors of executing a plan.

use std::io;

use campaign::stats::StatsError;
use crds::file_error::with_remedy;
use snafu::Snafu;

use super::output::OutputError;

/// Error executing a plan. Failures that workers report are in the records instead.
#[derive(Debug, Snafu)]
#[snafu(visibility(pub(super)))]
pub(crate) enum ExecuteError {
    /// The run directory could not be used.
    #[snafu(display("{source}"))]
    Output {
        /// Underlying error.
        source: OutputError,
    },
    /// The records measured so far could not be evaluated.
    #[snafu(display("{source}"))]
    Evaluate {
        /// Underlying error.
        source: StatsError,
    },
    /// A system operation that every run needs failed.
    #[snafu(display("cannot {operation}: {}", with_remedy(source)))]
    System {
        /// The operation, as a verb phrase.
        operation: &'static str,
        /// Operating system error.
        source: io::Error,
    },
}
