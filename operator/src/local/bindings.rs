//! Rails and processors of each rank on one machine. Pure.

use crds::assignment::RankBinding;
use crds::v1alpha1::{LibfabricProvider, TransportSpec};

/// One binding a rank: loopback addresses for providers that speak IP, and a share of `cpus` for each rank.
///
/// Every rank gets the same addresses (endpoints differ by port): rail `i` is 127.0.0.`i+1`, so that rails are
/// different addresses of one interface. Processors are dealt out in contiguous shares, so that no rank's threads run
/// where another's do; with fewer processors than ranks they are not bound at all.
pub(super) fn bindings(transport: &TransportSpec, workers: u32, cpus: &[u32]) -> Vec<RankBinding> {
    let workers = workers as usize;
    let share = cpus.len() / workers;
    (0..workers)
        .map(|rank| RankBinding {
            rails: if speaks_ip(transport) {
                loopback_addresses(transport.rails())
            } else {
                Vec::new()
            },
            cpus: if share > 0 {
                cpus[rank * share..(rank + 1) * share].to_vec()
            } else {
                Vec::new()
            },
        })
        .collect()
}

fn speaks_ip(transport: &TransportSpec) -> bool {
    use LibfabricProvider::{Net, Tcp, TcpRxm};
    matches!(transport, TransportSpec::Libfabric(libfabric) if matches!(libfabric.provider, Tcp | Net | TcpRxm))
}

fn loopback_addresses(rails: u32) -> Vec<String> {
    (1..=rails).map(|rail| format!("127.0.0.{rail}")).collect()
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Libfabric, Loopback};

    use super::*;

    fn tcp(rails: u32) -> TransportSpec {
        TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Tcp,
            rails,
        })
    }

    #[test]
    fn rails_are_addresses_of_their_own() {
        let bindings = bindings(&tcp(3), 2, &[0, 1]);
        assert_eq!(bindings[0].rails, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
        assert_eq!(bindings[1].rails, bindings[0].rails);
    }

    #[test]
    fn ranks_share_no_processor_where_there_are_enough() {
        let dealt = bindings(&tcp(1), 2, &[0, 2, 5, 7, 8]);
        assert_eq!(
            (dealt[0].cpus.as_slice(), dealt[1].cpus.as_slice()),
            (&[0, 2][..], &[5, 7][..])
        );
        assert!(
            bindings(&tcp(1), 3, &[0, 1])
                .iter()
                .all(|binding| binding.cpus.is_empty())
        );
    }

    #[test]
    fn what_has_no_address_is_left_to_the_worker() {
        let loopback = TransportSpec::Loopback(Loopback { rails: 2 });
        assert!(
            bindings(&loopback, 2, &[0, 1])
                .iter()
                .all(|binding| binding.rails.is_empty())
        );
    }
}
