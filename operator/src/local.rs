//! Carries a plan out on this machine: one worker process a rank, met over loopback.
//!
//! The decisions are the campaign's; this executor starts processes, keeps every line they answer, and stops them.
//! It does I/O, and nothing in it looks at a measured value.

mod bindings;
mod changes;
mod execute;
mod gang;
mod interrupt;
mod output;
mod progress;
mod run;
mod runner;

pub use execute::{ExecuteError, Stopped};
pub use interrupt::Interrupt;
pub use output::{OutputError, RECORDS, RunFolder};
pub use run::{Ended, LocalError, LocalRun};
pub use runner::{RunnerError, find_runner};
