//! One attempt at one leg as the three objects that carry it out: ConfigMap, headless Service, Indexed Job. Pure.

pub mod labels;
pub mod names;

/// Name of the container a worker runs in.
pub const WORKER_CONTAINER: &str = "worker";
