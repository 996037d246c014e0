//! The only code of the runner's memory that is unsafe: mapped pages, and GPU memory through its driver.

pub(crate) mod device;
pub(crate) mod mapping;
