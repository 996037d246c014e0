//! Facts about the workers that took part: hosts, endpoints, loaded configurations and claimed devices.

pub(super) mod claims;
pub(super) mod clock;
pub(super) mod configurations;
pub(super) mod device_pairs;
pub(super) mod endpoints;
pub(super) mod environment;
pub(super) mod lanes;
