//! Provider names in the loaded library. Performs no I/O.

use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::Version;

/// Release that renamed the native TCP provider from `net` to `tcp`.
///
/// In earlier releases, `tcp` over reliable datagrams is the slow `tcp;ofi_rxm`.
const TCP_IS_NATIVE: Version = Version::new(1, 18);
/// First release with the `efa-direct` fabric.
const EFA_DIRECT: Version = Version::new(2, 1);

/// Requested provider, with its names in the loaded library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct RequestedProvider {
    /// Provider that the spec requests.
    pub provider: LibfabricProvider,
    /// Exact `fi_fabric_attr.prov_name`.
    pub name: &'static str,
    /// `fi_fabric_attr.name`, if the provider has several fabrics.
    pub fabric: Option<&'static str>,
}

/// Resolves a provider's names in this version of the library.
///
/// # Errors
///
/// Returns a message if the provider does not exist in this version.
pub(in crate::transport::libfabric) fn resolve(
    provider: LibfabricProvider,
    version: Version,
) -> Result<RequestedProvider, String> {
    let named = |name| {
        Ok(RequestedProvider {
            provider,
            name,
            fabric: None,
        })
    };
    match provider {
        LibfabricProvider::Tcp if version < TCP_IS_NATIVE => named("net"),
        LibfabricProvider::Net if version >= TCP_IS_NATIVE => Err(format!(
            "libfabric {version} has no net provider: it has been named tcp since {TCP_IS_NATIVE}. Use tcp"
        )),
        LibfabricProvider::Efa => Ok(RequestedProvider {
            provider,
            name: "efa",
            fabric: Some("efa"),
        }),
        LibfabricProvider::EfaDirect if version < EFA_DIRECT => Err(format!(
            "libfabric {version} has no efa-direct fabric, which was added in {EFA_DIRECT}. Use efa or a newer library"
        )),
        LibfabricProvider::EfaDirect => Ok(RequestedProvider {
            provider,
            name: "efa",
            fabric: Some("efa-direct"),
        }),
        other => named(other.name()),
    }
}

/// Whether an RMA read may set FI_MORE.
///
/// The `efa` fabric ignores flags on reads, so each read rings the doorbell even if FI_MORE is set, and the caller's
/// doorbell counters would be too low.
pub(in crate::transport::libfabric) fn read_supports_more(provider: LibfabricProvider) -> bool {
    provider != LibfabricProvider::Efa
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Version = Version::new(1, 17);
    const NEW: Version = Version::new(2, 5);

    #[test]
    fn native_tcp_is_named_net_before_1_18() {
        assert_eq!(resolve(LibfabricProvider::Tcp, OLD).unwrap().name, "net");
        assert_eq!(
            resolve(LibfabricProvider::Tcp, TCP_IS_NATIVE).unwrap().name,
            "tcp"
        );
        assert_eq!(resolve(LibfabricProvider::Tcp, NEW).unwrap().name, "tcp");
    }

    #[test]
    fn rejects_net_after_its_rename_to_tcp() {
        assert_eq!(resolve(LibfabricProvider::Net, OLD).unwrap().name, "net");
        assert!(
            resolve(LibfabricProvider::Net, NEW)
                .unwrap_err()
                .contains("named tcp since 1.18")
        );
    }

    #[test]
    fn uses_the_full_names_of_layered_providers() {
        assert_eq!(
            resolve(LibfabricProvider::TcpRxm, OLD).unwrap().name,
            "tcp;ofi_rxm"
        );
        assert_eq!(
            resolve(LibfabricProvider::Verbs, NEW).unwrap().name,
            "verbs;ofi_rxm"
        );
    }

    #[test]
    fn distinguishes_the_fabrics_of_the_efa_provider() {
        assert_eq!(resolve(LibfabricProvider::Efa, NEW).unwrap().fabric, Some("efa"));
        assert_eq!(
            resolve(LibfabricProvider::EfaDirect, NEW).unwrap().fabric,
            Some("efa-direct")
        );
        assert!(
            resolve(LibfabricProvider::EfaDirect, Version::new(2, 0))
                .unwrap_err()
                .contains("added in 2.1")
        );
    }

    #[test]
    fn allows_more_on_reads_except_on_efa() {
        assert!(!read_supports_more(LibfabricProvider::Efa));
        assert!(read_supports_more(LibfabricProvider::EfaDirect));
        assert!(read_supports_more(LibfabricProvider::Tcp));
    }
}
