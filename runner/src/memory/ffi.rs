//! All unsafe code of the runner's memory module: mapped pages, and GPU memory through the CUDA driver.

pub(crate) mod device;
pub(crate) mod mapping;
