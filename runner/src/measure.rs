//! Measures time and resource usage: the clock, the recorder of samples, and the kernel's usage counters over a window.
//!
//! [`clock`] and [`recorder`] run inside timed regions: they do not allocate, and request nothing from the kernel but
//! the time. [`window`], [`cpu`] and [`cgroup`] read usage counters just outside timed regions.

pub mod cgroup;
pub mod clock;
pub mod cpu;
pub mod recorder;
pub mod window;
