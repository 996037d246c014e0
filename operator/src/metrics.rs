//! Every metric there is, defined once: what a run's status says, as samples, and what the operator says of itself.
//! Pure, no I/O.
//!
//! Results are kept as compact [`RunFigures`], made when a run arrives, and become text only when they are asked for, so
//! that they vanish with the run: for `/metrics` of the operator, and for `fabricbench report --format openmetrics`.

pub mod definition;
pub mod exposition;
pub mod figures;
#[cfg(test)]
pub(crate) mod fixture;
pub mod limits;
pub mod markdown;
pub mod operator;
pub mod results;

pub use definition::{Definition, Kind, Label};
pub use figures::RunFigures;
pub use limits::{Chosen, SeriesLimits, choose};
