//! Whether what distinguishes an arm took effect: optimizations, settings of UCX, variables, libraries, images and claims.

pub(super) mod claims;
pub(super) mod difference_evidence;
pub(super) mod differences;
pub(super) mod offload;
pub(super) mod optimizations;
pub(super) mod settings;
