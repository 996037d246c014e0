//! Determines why the library offers no device that meets an arm's requirements. Performs no I/O.

use crds::record::FailureReason;
use crds::v1alpha1::LibfabricProvider;

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

/// What is required to use GPU memory with `provider`, whose name in the opened library is `name`.
pub(in crate::transport::libfabric) fn gpu_memory_requirement(
    provider: LibfabricProvider,
    name: &str,
) -> String {
    use LibfabricProvider::{Efa, EfaDirect, Net, Shm, Tcp, TcpRxm, Verbs};
    match provider {
        Tcp | Net | TcpRxm => {
            "No libfabric release up to 2.6 supports GPU memory over TCP. Use UCX with the transports \
                               tcp and cuda_copy or, on one machine, the provider shm"
                .to_owned()
        }
        Efa | EfaDirect | Verbs | Shm => format!(
            "Required: a libfabric that was compiled with CUDA support, and the CUDA runtime (libcudart.so), which \
             libfabric opens itself, in the image. Try: FI_LOG_LEVEL=warn fi_info -p {name} -c FI_HMEM"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_providers_can_be_made_to_support_gpu_memory() {
        let shm = gpu_memory_requirement(LibfabricProvider::Shm, "shm");
        assert!(
            shm.contains("libcudart.so") && shm.ends_with("fi_info -p shm -c FI_HMEM"),
            "{shm}"
        );
        let tcp = gpu_memory_requirement(LibfabricProvider::Tcp, "tcp");
        assert!(tcp.contains("cuda_copy") && !tcp.contains("libcudart"), "{tcp}");
    }

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
