//! What crosses a process boundary.
//!
//! - [`v1alpha1`]: the `BenchmarkRun` resource, as users write it and read it back;
//! - [`assignment`]: what the campaign tells the workers of one leg to do;
//! - [`record`]: what worker 0 answers, line by line;
//! - [`histogram`], [`quantile`], [`units`], [`striping`], [`names`]: the values and rules both sides share.
//!
//! Nothing here does I/O. Without features the crate depends on serde only; the feature `crd` adds the
//! Kubernetes schema.
#![forbid(unsafe_code)]

pub mod assignment;
pub mod histogram;
pub mod names;
pub mod quantile;
pub mod record;
pub mod striping;
pub mod units;
pub mod v1alpha1;
