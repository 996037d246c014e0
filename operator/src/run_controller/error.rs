//! Errors that end a reconciliation. Performs no I/O.

use snafu::Snafu;

use super::apply::ApplyError;
use super::observe::ListError;
use super::records::RecordsError;
use super::update_status::StatusError;
use crate::metrics::operator::Category;

/// Error that ends a reconciliation. The next reconciliation starts from the current state of the cluster.
#[derive(Debug, Snafu)]
pub(super) enum ReconcileError {
    /// An object could not be created or deleted.
    #[snafu(transparent)]
    Apply {
        /// Cause.
        source: ApplyError,
    },
    /// The status could not be written.
    #[snafu(transparent)]
    Status {
        /// Cause.
        source: StatusError,
    },
    /// The pods of the run could not be listed.
    #[snafu(transparent)]
    List {
        /// Cause.
        source: ListError,
    },
    /// The run in the cache could not be decoded.
    #[snafu(display("cannot decode the cached run: {message}"))]
    Unpack {
        /// Cause.
        message: String,
    },
    /// Records could not be read or written.
    #[snafu(transparent)]
    Records {
        /// Cause.
        source: RecordsError,
    },
    /// The records could not be evaluated.
    #[snafu(display("cannot evaluate the records: {message}"))]
    Evaluate {
        /// Cause.
        message: String,
    },
}

impl ReconcileError {
    /// Whether the run was changed or deleted concurrently, which is not an error.
    pub(super) fn is_conflict(&self) -> bool {
        match self {
            Self::Status { source } => matches!(source, StatusError::Changed { .. }),
            Self::Apply { source } => source.is_conflict(),
            _ => false,
        }
    }

    /// Returns the error category for the error metric.
    pub(super) fn category(&self) -> Category {
        match self {
            Self::Apply { source } => source.category(),
            Self::Status { source } => source.category(),
            Self::List { .. } => Category::ListFailed,
            Self::Unpack { .. } => Category::EncodingFailed,
            Self::Records { source } => source.category(),
            Self::Evaluate { .. } => Category::EvaluationFailed,
        }
    }
}
