//! Hints for `fi_getinfo`. Performs no I/O.

use super::provider::RequestedProvider;
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::bindings::{
    FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_HMEM, FI_MR_ALLOCATED, FI_MR_HMEM, FI_MR_LOCAL,
    FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_REMOTE_COMM, FI_RMA, FI_RX_CQ_DATA,
};

/// Hint fields. All other fields stay zero, which means "no preference".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Hints {
    /// `fabric_attr.prov_name`.
    pub provider: &'static str,
    /// `fabric_attr.name`.
    pub fabric: Option<&'static str>,
    /// `caps`.
    pub caps: u64,
    /// `mode`: endpoint modes that this transport supports.
    pub mode: u64,
    /// `domain_attr.mr_mode`: memory registration modes that this transport supports.
    pub mr_mode: i32,
    /// `tx_attr.op_flags`: completion levels that the provider must support.
    pub op_flags: u64,
    /// `tx_attr.inject_size` in bytes; 0 for no preference.
    pub inject_size: usize,
    /// `tx_attr.size` and `rx_attr.size`; 0 for the provider's defaults.
    pub depth: usize,
}

/// Arm requirements that can be expressed as hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Requirements {
    /// Size in bytes of the largest message to inject; 0 if the arm injects nothing.
    pub inject_size: usize,
    /// Whether the arm uses GPU memory.
    pub device_memory: bool,
}

/// Hints to try, in this order, until the library returns the requested provider.
///
/// A provider with a smaller inject size than requested does not match the hints, so the hints are tried with the
/// requested inject size and then without an inject size. The limit that the library returns is recorded, and
/// injections above it are rejected. The requested size is tried first because some providers select their code path
/// based on it (wide work requests on efa-direct).
///
/// On devices that do not support unsolicited receives, writes with immediate data over efa-direct consume a posted
/// receive. Such devices match only hints that include FI_RX_CQ_DATA. These hints are tried last, so that all other
/// devices are opened without this mode.
pub(in crate::transport::libfabric) fn hint_candidates(
    requested: &RequestedProvider,
    requirements: Requirements,
) -> Vec<Hints> {
    let modes: &[u64] = match requested.provider {
        LibfabricProvider::EfaDirect => &[FI_CONTEXT | FI_CONTEXT2, FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA],
        _ => &[FI_CONTEXT | FI_CONTEXT2],
    };
    let inject_sizes: &[usize] = if requirements.inject_size > 0 {
        &[requirements.inject_size, 0]
    } else {
        &[0]
    };
    modes
        .iter()
        .flat_map(|&mode| inject_sizes.iter().map(move |&inject_size| (mode, inject_size)))
        .map(|(mode, inject_size)| Hints {
            provider: requested.name,
            fabric: requested.fabric,
            caps: capabilities(requested.provider, requirements.device_memory),
            mode,
            mr_mode: registration_modes(requirements.device_memory),
            op_flags: FI_DELIVERY_COMPLETE,
            inject_size,
            depth: 0,
        })
        .collect()
}

/// Capabilities to request.
///
/// FI_REMOTE_COMM without FI_LOCAL_COMM prevents efa from using shared memory for a peer on the same host. Shared
/// memory would not measure EFA, and it crashes with GPU buffers (libfabric issue 12328).
fn capabilities(provider: LibfabricProvider, device_memory: bool) -> u64 {
    let memory = if device_memory { FI_HMEM } else { 0 };
    let distance = if provider == LibfabricProvider::Efa {
        FI_REMOTE_COMM
    } else {
        0
    };
    FI_MSG | FI_RMA | memory | distance
}

/// Memory registration modes that this transport supports.
///
/// No supported provider requires any other mode, such as raw keys (which need an additional exchange) or regions bound
/// to endpoints.
fn registration_modes(device_memory: bool) -> i32 {
    let memory = if device_memory { FI_MR_HMEM } else { 0 };
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | memory
}

#[cfg(test)]
mod tests {
    use super::super::provider::resolve;
    use super::*;
    use libfabric_sys::Version;
    use libfabric_sys::bindings::{FI_LOCAL_COMM, FI_MR_ENDPOINT, FI_MR_RAW, FI_MSG_PREFIX};

    fn hints(provider: LibfabricProvider, inject_size: usize, device_memory: bool) -> Vec<Hints> {
        let requested = resolve(provider, Version::new(2, 5)).unwrap();
        hint_candidates(
            &requested,
            Requirements {
                inject_size,
                device_memory,
            },
        )
    }

    #[test]
    fn tries_the_requested_inject_size_first() {
        let sizes = |inject| {
            hints(LibfabricProvider::Tcp, inject, false)
                .iter()
                .map(|h| h.inject_size)
                .collect()
        };
        let with: Vec<_> = sizes(256);
        let without: Vec<_> = sizes(0);
        assert_eq!(with, [256, 0]);
        assert_eq!(without, [0]);
    }

    #[test]
    fn excludes_shared_memory_for_efa() {
        let efa = &hints(LibfabricProvider::Efa, 0, false)[0];
        assert_eq!(efa.caps & (FI_REMOTE_COMM | FI_LOCAL_COMM), FI_REMOTE_COMM);
        assert_eq!(hints(LibfabricProvider::Tcp, 0, false)[0].caps, FI_MSG | FI_RMA);
    }

    #[test]
    fn tries_receive_consuming_immediates_last_for_efa_direct() {
        let direct = hints(LibfabricProvider::EfaDirect, 64, false);
        let tries: Vec<_> = direct
            .iter()
            .map(|h| (h.mode & FI_RX_CQ_DATA != 0, h.inject_size))
            .collect();
        assert_eq!(tries, [(false, 64), (false, 0), (true, 64), (true, 0)]);
        assert!(
            direct
                .iter()
                .all(|h| h.mode & FI_CONTEXT2 != 0 && h.mr_mode & FI_MR_LOCAL != 0)
        );
        assert!(
            hints(LibfabricProvider::Efa, 64, false)
                .iter()
                .all(|h| h.mode & FI_RX_CQ_DATA == 0)
        );
    }

    #[test]
    fn requests_device_memory_only_if_used() {
        let with = &hints(LibfabricProvider::Efa, 0, true)[0];
        assert!(with.caps & FI_HMEM != 0 && with.mr_mode & FI_MR_HMEM != 0);
        let without = &hints(LibfabricProvider::Efa, 0, false)[0];
        assert!(without.caps & FI_HMEM == 0 && without.mr_mode & FI_MR_HMEM == 0);
    }

    #[test]
    fn never_includes_unsupported_modes() {
        for provider in [
            LibfabricProvider::Tcp,
            LibfabricProvider::Verbs,
            LibfabricProvider::EfaDirect,
        ] {
            for hints in hints(provider, 64, true) {
                assert_eq!(hints.mode & FI_MSG_PREFIX, 0);
                assert_eq!(hints.mr_mode & (FI_MR_RAW | FI_MR_ENDPOINT), 0);
                assert_eq!(hints.op_flags, FI_DELIVERY_COMPLETE);
            }
        }
    }
}
