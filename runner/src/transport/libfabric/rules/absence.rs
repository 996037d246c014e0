//! Determines why the library offers no device that meets an arm's requirements. Performs no I/O.

use crds::record::FailureReason;

/// Failure reason if `fi_getinfo` returned no device of the requested provider that meets the arm's requirements.
///
/// `found_others` is true if `fi_getinfo` returned devices of other providers or fabrics, which must not be used
/// instead. `found_without_hmem` is true if the arm requires GPU memory (FI_HMEM) and the provider has devices, but
/// none that supports it. This happens with a library that was compiled without CUDA or cannot open the CUDA runtime
/// (libcudart.so), so the reason is missing support for GPU memory, not a missing device.
pub(in crate::transport::libfabric) fn missing_device_reason(
    found_others: bool,
    found_without_hmem: bool,
) -> FailureReason {
    match (found_others, found_without_hmem) {
        (_, true) => FailureReason::MemoryUnavailable,
        (true, false) => FailureReason::ProviderMismatch,
        (false, false) => FailureReason::NoDevice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_without_hmem_are_reported_as_unavailable_memory() {
        for found_others in [false, true] {
            let reason = missing_device_reason(found_others, true);
            assert_eq!(reason, FailureReason::MemoryUnavailable, "{found_others}");
        }
    }

    #[test]
    fn other_providers_are_a_mismatch() {
        assert_eq!(
            missing_device_reason(true, false),
            FailureReason::ProviderMismatch
        );
        assert_eq!(missing_device_reason(false, false), FailureReason::NoDevice);
    }
}
