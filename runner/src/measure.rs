//! Measures time and resource usage. Contains the clock, the sample recorder, the kernel's resource usage counters for
//! a window, and the memory copy rate.
//!
//! [`clock`] and [`recorder`] run inside timed regions: they do not allocate, and the only kernel service they use is
//! the clock. [`window`], [`cpu`] and [`cgroup`] read usage counters immediately before and after timed regions.

pub mod calling_thread;
pub mod cgroup;
pub mod clock;
pub mod contention;
pub mod copy_rate;
pub mod cpu;
pub mod deadline;
pub mod recorder;
pub mod window;
