//! What a provider is called by the library that was loaded.

use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::Version;

/// Release that took the native TCP provider's name `net` away and gave it `tcp`. Before it, `tcp` over reliable
/// datagrams is the slow `tcp;ofi_rxm`.
const TCP_IS_NATIVE: Version = Version::new(1, 18);
/// First release with the fabric `efa-direct`.
const EFA_DIRECT: Version = Version::new(2, 1);

/// A provider by the names that the loaded library knows it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Wanted {
    /// What the user asked for.
    pub provider: LibfabricProvider,
    /// `fi_fabric_attr.prov_name`, exactly.
    pub name: &'static str,
    /// `fi_fabric_attr.name`, where one provider has several fabrics.
    pub fabric: Option<&'static str>,
}

/// # Errors
///
/// In words, where the library is of a release that does not have the provider.
pub(in crate::transport::libfabric) fn wanted(
    provider: LibfabricProvider,
    version: Version,
) -> Result<Wanted, String> {
    let named = |name| {
        Ok(Wanted {
            provider,
            name,
            fabric: None,
        })
    };
    match provider {
        LibfabricProvider::Tcp if version < TCP_IS_NATIVE => named("net"),
        LibfabricProvider::Net if version >= TCP_IS_NATIVE => Err(format!(
            "libfabric {version} has no provider net: it is called tcp since {TCP_IS_NATIVE}"
        )),
        LibfabricProvider::Efa => Ok(Wanted {
            provider,
            name: "efa",
            fabric: Some("efa"),
        }),
        LibfabricProvider::EfaDirect if version < EFA_DIRECT => Err(format!(
            "libfabric {version} has no fabric efa-direct: it came with {EFA_DIRECT}. Use efa, or a newer library"
        )),
        LibfabricProvider::EfaDirect => Ok(Wanted {
            provider,
            name: "efa",
            fabric: Some("efa-direct"),
        }),
        other => named(other.name()),
    }
}

/// Whether FI_MORE may go with an RMA read: the `efa` fabric drops the flags of its reads, so the doorbell would
/// ring at every one while the caller counts none.
pub(in crate::transport::libfabric) fn read_takes_more(provider: LibfabricProvider) -> bool {
    provider != LibfabricProvider::Efa
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Version = Version::new(1, 17);
    const NEW: Version = Version::new(2, 5);

    #[test]
    fn native_tcp_is_net_before_1_18() {
        assert_eq!(wanted(LibfabricProvider::Tcp, OLD).unwrap().name, "net");
        assert_eq!(wanted(LibfabricProvider::Tcp, TCP_IS_NATIVE).unwrap().name, "tcp");
        assert_eq!(wanted(LibfabricProvider::Tcp, NEW).unwrap().name, "tcp");
    }

    #[test]
    fn net_by_its_own_name_is_refused_where_it_is_gone() {
        assert_eq!(wanted(LibfabricProvider::Net, OLD).unwrap().name, "net");
        assert!(
            wanted(LibfabricProvider::Net, NEW)
                .unwrap_err()
                .contains("called tcp since 1.18")
        );
    }

    #[test]
    fn layered_providers_are_asked_for_by_their_full_name() {
        assert_eq!(
            wanted(LibfabricProvider::TcpRxm, OLD).unwrap().name,
            "tcp;ofi_rxm"
        );
        assert_eq!(
            wanted(LibfabricProvider::Verbs, NEW).unwrap().name,
            "verbs;ofi_rxm"
        );
    }

    #[test]
    fn efa_and_efa_direct_are_two_fabrics_of_one_provider() {
        assert_eq!(wanted(LibfabricProvider::Efa, NEW).unwrap().fabric, Some("efa"));
        assert_eq!(
            wanted(LibfabricProvider::EfaDirect, NEW).unwrap().fabric,
            Some("efa-direct")
        );
        assert!(
            wanted(LibfabricProvider::EfaDirect, Version::new(2, 0))
                .unwrap_err()
                .contains("came with 2.1")
        );
    }

    #[test]
    fn reads_keep_their_flags_everywhere_but_on_efa() {
        assert!(!read_takes_more(LibfabricProvider::Efa));
        assert!(read_takes_more(LibfabricProvider::EfaDirect));
        assert!(read_takes_more(LibfabricProvider::Tcp));
    }
}
