//! Definitions of all metrics: run metrics, which are read from run statuses, and metrics of the operator itself.
//! Performs no I/O.
//!
//! When the operator receives a run, it stores the run's values as compact [`RunValues`]. They are formatted on
//! request, for the operator's `/metrics` endpoint and for `fabricbench report --format openmetrics`.

mod definition;
pub mod exposition;
#[cfg(test)]
pub(crate) mod fixture;
mod from_run;
pub mod limits;
pub(crate) mod markdown;
pub(crate) mod operator;
pub mod results;
mod values;

pub use definition::{Definition, Kind, Label};
pub use limits::{SelectedRun, SeriesLimits, select};
pub use values::RunValues;
