//! Determines which operations the device executes, and which the provider emulates in software. Performs no I/O.
//!
//! An answer is `Unknown` unless the provider reports it or only one answer is possible.

use crds::record::OffloadFacts;
use crds::v1alpha1::Answer;
use crds::v1alpha1::LibfabricProvider;

/// Properties that the library reports for an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct ReportedProperties {
    /// `FI_OPT_EFA_EMULATED_READ`; `None` if the library does not have the option.
    pub emulates_reads: Option<bool>,
    /// `FI_OPT_EFA_EMULATED_WRITE`; `None` if the library does not have the option.
    pub emulates_writes: Option<bool>,
    /// Maximum size of a message that fits inline in a work request, in bytes; `None` if it is unknown.
    pub inline_bytes: Option<u64>,
}

/// Offload facts about an endpoint of `provider`. Assumes that efa endpoints for GPU memory (`device_memory`) were
/// opened with peer-to-peer transfers required.
pub(in crate::transport::libfabric) fn offload(
    provider: LibfabricProvider,
    reported: ReportedProperties,
    device_memory: bool,
) -> OffloadFacts {
    OffloadFacts {
        emulated_reads: emulation(provider, reported.emulates_reads),
        emulated_writes: emulation(provider, reported.emulates_writes),
        staged: device_memory.then(|| staging_answer(provider)),
        inline_bytes: reported.inline_bytes,
    }
}

/// Whether RMA operations are emulated with messages. `None` for providers without a device.
fn emulation(provider: LibfabricProvider, reported: Option<bool>) -> Option<Answer> {
    use LibfabricProvider::{Efa, EfaDirect, Net, Shm, Tcp, TcpRxm, Verbs};
    match (provider, reported) {
        (Efa | EfaDirect, Some(emulated)) => Some(Answer::from(emulated)),
        (Efa, None) => Some(Answer::Unknown),
        // The efa-direct fabric has no software protocol, and rxm passes RMA operations through to the underlying verbs
        // queue pair.
        (EfaDirect | Verbs, _) => Some(Answer::False),
        (Tcp | Net | TcpRxm | Shm, _) => None,
    }
}

/// Whether GPU memory is copied through host memory.
fn staging_answer(provider: LibfabricProvider) -> Answer {
    use LibfabricProvider::{Efa, EfaDirect, Net, Shm, Tcp, TcpRxm, Verbs};
    match provider {
        // If FI_HMEM_P2P_REQUIRED is set, opening the endpoint fails if the provider would have to copy.
        Efa | EfaDirect => Answer::False,
        // Sockets transfer host memory only.
        Tcp | Net | TcpRxm => Answer::True,
        // rxm copies small messages, and shm uses either CUDA IPC or a copy. Neither reports whether it copied.
        Verbs | Shm => Answer::Unknown,
    }
}

/// Whether to open endpoints with peer-to-peer transfers required (`FI_OPT_FI_HMEM_P2P`). Without this requirement, efa
/// falls back to copying through host memory.
pub(in crate::transport::libfabric) fn requires_peer_to_peer(
    provider: LibfabricProvider,
    device_memory: bool,
) -> bool {
    device_memory && matches!(provider, LibfabricProvider::Efa | LibfabricProvider::EfaDirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreported_emulation_is_unknown_rather_than_false() {
        let efa = |reported| emulation(LibfabricProvider::Efa, reported);
        assert_eq!(efa(None), Some(Answer::Unknown));
        assert_eq!(efa(Some(true)), Some(Answer::True));
        assert_eq!(efa(Some(false)), Some(Answer::False));
        assert_eq!(emulation(LibfabricProvider::EfaDirect, None), Some(Answer::False));
        assert_eq!(
            emulation(LibfabricProvider::EfaDirect, Some(true)),
            Some(Answer::True)
        );
        assert_eq!(emulation(LibfabricProvider::Tcp, None), None);
    }

    #[test]
    fn staging_is_reported_only_for_gpu_memory() {
        let staged =
            |provider, device_memory| offload(provider, ReportedProperties::default(), device_memory).staged;
        assert_eq!(staged(LibfabricProvider::Efa, false), None);
        assert_eq!(staged(LibfabricProvider::Efa, true), Some(Answer::False));
        assert_eq!(staged(LibfabricProvider::Tcp, true), Some(Answer::True));
        assert_eq!(staged(LibfabricProvider::Verbs, true), Some(Answer::Unknown));
    }

    #[test]
    fn only_efa_endpoints_for_gpu_memory_require_peer_to_peer_transfers() {
        assert!(requires_peer_to_peer(LibfabricProvider::Efa, true));
        assert!(requires_peer_to_peer(LibfabricProvider::EfaDirect, true));
        assert!(!requires_peer_to_peer(LibfabricProvider::Efa, false));
        assert!(!requires_peer_to_peer(LibfabricProvider::Tcp, true));
    }
}
