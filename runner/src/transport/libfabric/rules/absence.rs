//! Why the library offers no device that meets the requirements of an arm. Performs no I/O.

use crds::record::FailureReason;

/// Reason of the failure if `fi_getinfo` returned no device of the requested provider.
///
/// `found_others` is whether it returned devices of other providers or fabrics, which must not be used instead.
/// `found_without_hmem` is whether the arm requires GPU memory (FI_HMEM) and the provider has devices without this
/// requirement. A library that was compiled without CUDA, or that cannot open the CUDA runtime (libcudart.so), finds no
/// device with FI_HMEM: it lacks support for GPU memory, not a device.
pub(in crate::transport::libfabric) fn absence_reason(
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
    fn devices_without_hmem_lack_gpu_memory() {
        for found_others in [false, true] {
            let reason = absence_reason(found_others, true);
            assert_eq!(reason, FailureReason::MemoryUnavailable, "{found_others}");
        }
    }

    #[test]
    fn other_providers_are_a_mismatch() {
        assert_eq!(absence_reason(true, false), FailureReason::ProviderMismatch);
        assert_eq!(absence_reason(false, false), FailureReason::NoDevice);
    }
}
