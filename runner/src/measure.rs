//! Measures time and resource usage: the clock, the recorder of samples, and the kernel's usage counters over a window.
//!
//! [`clock`] and [`recorder`] run inside timed regions: they do not allocate, and their only request to the kernel is
//! for the time. [`window`], [`cpu`] and [`cgroup`] read usage counters immediately before and after timed regions.

pub mod cgroup;
pub mod clock;
pub mod cpu;
pub mod recorder;
pub mod window;
