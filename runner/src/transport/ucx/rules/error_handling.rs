//! Endpoint error handling modes. Performs no I/O.

use crds::v1alpha1::{Ucx, UcxErrorHandling};

/// Variables that make UCX's shared-memory transports report lost peers. UCX 1.13 ignores these settings if they are
/// not in the environment.
const SHARED_MEMORY: [&str; 2] = ["UCX_POSIX_ERROR_HANDLING", "UCX_SYSV_ERROR_HANDLING"];

/// Explains why UCX rejects the endpoints, and suggests a fix, if the cause may be the error handling mode. Unless the
/// [`SHARED_MEMORY`] variables are set, posix and sysv do not support the `peer` mode, so no shared-memory transport
/// can carry messages. `is_set` reports whether a variable is set.
pub(in crate::transport::ucx) fn unsupported_reason(
    spec: &Ucx,
    is_set: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let applies = spec.error_handling() == UcxErrorHandling::Peer
        && !spec.uses_network()
        && !SHARED_MEMORY.iter().any(|name| is_set(name));
    applies.then_some(
        "UCX's shared memory does not support spec.transport.ucx.errorHandling: Peer by default. Remove errorHandling, or \
         set UCX_POSIX_ERROR_HANDLING=y and UCX_SYSV_ERROR_HANDLING=y in the variant's environment",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::v1alpha1::UcxTransport;

    #[test]
    fn only_shared_memory_without_its_settings_is_unsupported() {
        let spec = |transports: &[UcxTransport], error_handling| Ucx {
            error_handling,
            ..Ucx::new(transports.to_vec(), 1)
        };
        let peer = Some(UcxErrorHandling::Peer);
        let shared = spec(&[UcxTransport::Sm], peer);
        assert!(unsupported_reason(&shared, |_| false).is_some());
        assert_eq!(
            unsupported_reason(&shared, |name| name == "UCX_SYSV_ERROR_HANDLING"),
            None
        );
        for supported in [
            spec(&[UcxTransport::Sm], None),
            spec(&[UcxTransport::Sm], Some(UcxErrorHandling::None)),
            spec(&[UcxTransport::Tcp, UcxTransport::Sm], peer),
        ] {
            assert_eq!(unsupported_reason(&supported, |_| false), None, "{supported:?}");
        }
    }
}
