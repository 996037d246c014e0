//! What the processes of an arm load, and what the loaded libraries know about the environment variables that the arms
//! set. Determined once, in round 0.
//!
//! | module | purpose |
//! |---|---|
//! | [`loaded`] | lists the files that a process has loaded |
//! | [`trace`] | lists the files that the processes of a command have loaded |
//! | [`query`] | asks a separate process about a list of files |
//! | [`preview`] | asks about the library of a transport before anything is measured |
//! | [`assess`] | that process: opens the libraries, reads the files, and assesses the variables |
//! | [`owner`], [`tables`], [`judge`], [`strings`] | rules; perform no I/O |
//!
//! The libraries are queried in a separate process with the same environment, so that the query cannot change the
//! process that is measured, and a library that crashes costs only the answer.

pub mod assess;
mod judge;
pub mod loaded;
mod owner;
pub mod preview;
pub mod query;
mod strings;
mod tables;
pub mod trace;
