//! Support for tests that use a real API server or complete campaigns, and for the operator benchmark.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod bad_manifests;
pub mod cluster;
pub mod flags;
pub mod operator;
pub mod proxy;
pub mod rederive;

/// Returns the number in the environment variable `name`, or `None` if it is not set.
///
/// # Panics
/// Panics if the value is not a number.
pub fn env_number<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{name} is {text:?}, which is not a number"),
    }
}
