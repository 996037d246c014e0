//! Data types that cross process boundaries.
//!
//! - [`v1alpha1`]: the `BenchmarkRun` resource;
//! - [`assignment`]: the work of one leg, read by its workers;
//! - [`record`]: the record stream that worker 0 writes;
//! - [`histogram`], [`quantile`], [`units`], [`striping`], [`names`]: values and rules shared by operator and runner.
//!
//! The crate does no I/O. The feature `crd` adds the Kubernetes schema.
#![forbid(unsafe_code)]

pub mod assignment;
pub mod histogram;
pub mod names;
pub mod quantile;
pub mod record;
pub mod striping;
pub mod units;
pub mod v1alpha1;
