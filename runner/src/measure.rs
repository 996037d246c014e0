//! Taking times and costs: the clock, the recorder of samples, and what the kernel says of a window.
//!
//! [`clock`] and [`recorder`] are used inside timed regions and neither allocate nor ask the kernel for more than the
//! time. [`window`], [`cpu`] and [`cgroup`] read the kernel's accounts just outside them.

pub mod cgroup;
pub mod clock;
pub mod cpu;
pub mod recorder;
pub mod window;
