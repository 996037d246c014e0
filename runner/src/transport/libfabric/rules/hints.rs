//! What is asked of `fi_getinfo`.

use super::provider::Wanted;
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::bindings::{
    FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_HMEM, FI_MR_ALLOCATED, FI_MR_HMEM, FI_MR_LOCAL,
    FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_REMOTE_COMM, FI_RMA, FI_RX_CQ_DATA,
};

/// Fields of the hints. Everything else stays zero: "no wish".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Hints {
    /// `fabric_attr.prov_name`.
    pub provider: &'static str,
    /// `fabric_attr.name`.
    pub fabric: Option<&'static str>,
    /// `caps`.
    pub caps: u64,
    /// `mode`: what this side can do for the provider.
    pub mode: u64,
    /// `domain_attr.mr_mode`: likewise, for memory.
    pub mr_mode: i32,
    /// `tx_attr.op_flags`: completion levels that must be supported.
    pub op_flags: u64,
    /// `tx_attr.inject_size`, bytes; 0 for no wish.
    pub inject_size: usize,
    /// `tx_attr.size` and `rx_attr.size`; 0 for the provider's own.
    pub depth: usize,
}

/// What an arm wishes for, as far as hints can say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Wishes {
    /// Largest message to inject, bytes; 0 where nothing is injected.
    pub inject_size: usize,
    /// Whether any memory is a GPU's.
    pub device_memory: bool,
}

/// The hints to try, in order; the first that the library answers counts.
///
/// A wish for a larger inject size than the provider has would hide the provider, so it is tried and then dropped:
/// the limit that was returned is recorded, and posts above it are refused. It is tried first because some
/// providers choose their path by it (wide work requests on efa-direct).
///
/// efa-direct writes with immediate data consume a posted receive on devices without unsolicited receives; there,
/// and only there, FI_RX_CQ_DATA must be offered.
pub(in crate::transport::libfabric) fn attempts(wanted: &Wanted, wishes: Wishes) -> Vec<Hints> {
    let modes: &[u64] = match wanted.provider {
        LibfabricProvider::EfaDirect => &[FI_CONTEXT | FI_CONTEXT2, FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA],
        _ => &[FI_CONTEXT | FI_CONTEXT2],
    };
    let inject_sizes: &[usize] = if wishes.inject_size > 0 {
        &[wishes.inject_size, 0]
    } else {
        &[0]
    };
    modes
        .iter()
        .flat_map(|&mode| inject_sizes.iter().map(move |&inject_size| (mode, inject_size)))
        .map(|(mode, inject_size)| Hints {
            provider: wanted.name,
            fabric: wanted.fabric,
            caps: capabilities(wanted.provider, wishes.device_memory),
            mode,
            mr_mode: registration_modes(wishes.device_memory),
            op_flags: FI_DELIVERY_COMPLETE,
            inject_size,
            depth: 0,
        })
        .collect()
}

/// FI_REMOTE_COMM without FI_LOCAL_COMM is how efa is told not to take shared memory to a peer on the same host,
/// which would measure no EFA at all (and crashes with GPU buffers, libfabric issue 12328).
fn capabilities(provider: LibfabricProvider, device_memory: bool) -> u64 {
    let memory = if device_memory { FI_HMEM } else { 0 };
    let distance = if provider == LibfabricProvider::Efa {
        FI_REMOTE_COMM
    } else {
        0
    };
    FI_MSG | FI_RMA | memory | distance
}

/// Everything but raw keys (they need an exchange of their own) and regions tied to endpoints: no provider here
/// wants either.
fn registration_modes(device_memory: bool) -> i32 {
    let memory = if device_memory { FI_MR_HMEM } else { 0 };
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | memory
}

#[cfg(test)]
mod tests {
    use super::super::provider::wanted;
    use super::*;
    use libfabric_sys::Version;
    use libfabric_sys::bindings::{FI_LOCAL_COMM, FI_MR_ENDPOINT, FI_MR_RAW, FI_MSG_PREFIX};

    fn hints(provider: LibfabricProvider, inject_size: usize, device_memory: bool) -> Vec<Hints> {
        let wanted = wanted(provider, Version::new(2, 5)).unwrap();
        attempts(
            &wanted,
            Wishes {
                inject_size,
                device_memory,
            },
        )
    }

    #[test]
    fn an_inject_wish_is_tried_and_then_dropped() {
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
    fn efa_is_kept_off_shared_memory() {
        let efa = &hints(LibfabricProvider::Efa, 0, false)[0];
        assert_eq!(efa.caps & (FI_REMOTE_COMM | FI_LOCAL_COMM), FI_REMOTE_COMM);
        assert_eq!(hints(LibfabricProvider::Tcp, 0, false)[0].caps, FI_MSG | FI_RMA);
    }

    #[test]
    fn efa_direct_gets_receive_consuming_immediates_only_as_a_second_try() {
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
    fn device_memory_is_asked_for_only_when_there_is_some() {
        let with = &hints(LibfabricProvider::Efa, 0, true)[0];
        assert!(with.caps & FI_HMEM != 0 && with.mr_mode & FI_MR_HMEM != 0);
        let without = &hints(LibfabricProvider::Efa, 0, false)[0];
        assert!(without.caps & FI_HMEM == 0 && without.mr_mode & FI_MR_HMEM == 0);
    }

    #[test]
    fn what_is_refused_is_never_offered() {
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
