//! All unsafe code in the runner's memory module: mapped pages, and GPU memory through the CUDA driver.

pub(crate) mod device;
pub(crate) mod library;
pub(crate) mod mapping;
