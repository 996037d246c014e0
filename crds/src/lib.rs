//! Data types that cross process boundaries.
//!
//! - [`v1alpha1`]: the `BenchmarkRun` resource;
//! - [`assignment`]: the work of one leg, read by its workers;
//! - [`record`]: the record stream written by worker 0;
//! - [`quantity`]: the catalogue of measured quantities;
//! - [`cpu_list`], [`histogram`], [`interface_load`], [`libraries`], [`library_copy`], [`protocols`], [`quantile`], [`units`],
//!   [`striping`], [`names`]: values and rules shared by the operator and the runner;
//! - [`suggestion`], [`printable`], [`deserialization`], [`number`], [`file_error`]: names, text and causes in messages.
//!
//! This crate performs no I/O. The `crd` feature adds the Kubernetes schema.
#![forbid(unsafe_code)]

pub mod assignment;
pub mod cpu_list;
pub mod deserialization;
pub mod file_error;
pub mod histogram;
pub mod interface_load;
#[cfg(feature = "crd")]
pub mod json_schema;
pub mod libraries;
pub mod library_copy;
pub mod lifeline;
pub mod names;
pub mod number;
mod omitted;
pub mod printable;
pub mod protocols;
pub mod quantile;
pub mod quantity;
pub mod record;
#[cfg(feature = "crd")]
mod schema;
pub mod striping;
pub mod suggestion;
pub mod units;
pub mod v1alpha1;
mod workload;
