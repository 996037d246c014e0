//! Starts the workers of a run on other machines, through a launcher such as `ssh {host}`. The launcher authenticates and
//! encrypts: nothing here listens or handles keys.
//!
//! [`host`] and [`launcher`] are what the user names. [`prepare`] looks at each host and copies the runner to it, with the
//! scripts in [`script`] over a [`connection`]. [`executor`] starts the workers. Performs I/O.

mod connection;
mod executor;
mod facts;
mod host;
mod launcher;
mod parallel;
mod prepare;
mod runner_file;
mod script;

pub(crate) use executor::Machines;
pub(crate) use host::Host;
pub(crate) use launcher::Launcher;
