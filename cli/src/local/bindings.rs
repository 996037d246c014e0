//! Rails and CPUs of each rank on one machine. Performs no I/O.

use crds::assignment::RankBinding;
use crds::v1alpha1::TransportSpec;

/// Returns one binding for each rank: loopback addresses for the rails of `sources`, and a share of `cpus`. `sources` is
/// `None` if no arm uses IP, or if the spec names the NICs of the rails.
///
/// Rail `i` has the address 127.0.0.`i+1` on every rank: endpoints of different ranks have different ports, and rails
/// are different addresses on one interface. Each rank gets a contiguous range of `cpus`, so that threads of different
/// ranks do not share CPUs. If there are fewer CPUs than ranks, no rank is bound to CPUs.
pub(super) fn bindings(sources: Option<&TransportSpec>, workers: u32, cpus: &[u32]) -> Vec<RankBinding> {
    let workers = workers as usize;
    let cpus_per_rank = cpus.len() / workers;
    (0..workers)
        .map(|rank| RankBinding {
            rails: sources
                .map(|transport| loopback_addresses(transport.rails()))
                .unwrap_or_default(),
            cpus: if cpus_per_rank > 0 {
                cpus[rank * cpus_per_rank..(rank + 1) * cpus_per_rank].to_vec()
            } else {
                Vec::new()
            },
        })
        .collect()
}

fn loopback_addresses(rails: u32) -> Vec<String> {
    (1..=rails).map(|rail| format!("127.0.0.{rail}")).collect()
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Libfabric, LibfabricProvider};

    use super::*;

    fn tcp(rails: u32) -> TransportSpec {
        TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Tcp,
            rails,
        })
    }

    #[test]
    fn each_rail_has_its_own_address() {
        let bindings = bindings(Some(&tcp(3)), 2, &[0, 1]);
        assert_eq!(bindings[0].rails, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
        assert_eq!(bindings[1].rails, bindings[0].rails);
    }

    #[test]
    fn no_addresses_without_an_ip_transport() {
        assert!(bindings(None, 2, &[])[1].rails.is_empty());
    }

    #[test]
    fn ranks_do_not_share_cpus_if_there_are_enough() {
        let bound = bindings(Some(&tcp(1)), 2, &[0, 2, 5, 7, 8]);
        assert_eq!(
            (bound[0].cpus.as_slice(), bound[1].cpus.as_slice()),
            (&[0, 2][..], &[5, 7][..])
        );
        assert!(
            bindings(Some(&tcp(1)), 3, &[0, 1])
                .iter()
                .all(|binding| binding.cpus.is_empty())
        );
    }
}
