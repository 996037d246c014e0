//! Describes which NIC transfers which memory, and warns about NICs that are far from their memory.

use crds::record::{FabricFacts, Locality, RailFacts};

use super::endpoints::EndpointIndex;
use crate::plan::Plan;

/// Describes the memory and the NICs of the rails, one line for each memory and position, such as `GPU 0000:53:00.0:
/// rdmap79s0, rdmap80s0 (same PCI root complex)`. Empty if no rail uses a PCI device.
fn device_pairs(facts: &FabricFacts) -> Vec<String> {
    let mut groups: Vec<(String, Locality, Vec<&str>)> = Vec::new();
    for rail in &facts.rails {
        let Some(locality) = rail.locality else {
            continue;
        };
        let memory = memory(rail);
        match groups.last_mut() {
            Some((known, position, nics)) if *known == memory && *position == locality => {
                nics.push(nic(rail))
            }
            _ => groups.push((memory, locality, vec![nic(rail)])),
        }
    }
    let lines = groups
        .into_iter()
        .map(|(memory, locality, nics)| format!("{memory}: {} ({locality})", nics.join(", ")));
    lines.collect()
}

/// Describes the memory and the NICs of the baseline at every rank, with the rank unless all ranks have the same.
pub(super) fn by_rank(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let pairs_at = |rank| endpoints.first(rank, plan.baseline).map(device_pairs);
    let ranks: Vec<(u32, Vec<String>)> = (0..plan.workers)
        .filter_map(|rank| Some((rank, pairs_at(rank)?)))
        .collect();
    let Some((_, first)) = ranks.first() else {
        return Vec::new();
    };
    if ranks.iter().all(|(_, pairs)| pairs == first) {
        return first.clone();
    }
    let lines = ranks
        .into_iter()
        .flat_map(|(rank, pairs)| pairs.into_iter().map(move |pair| format!("rank {rank}, {pair}")));
    lines.collect()
}

/// Returns one warning for each NIC that is on another NUMA node than its memory, and for each NIC whose position
/// relative to a GPU is unknown. The position relative to host memory is often unknown in virtual machines, and the
/// threads can run on any node, so it causes no warning.
///
/// An arm that uses other NICs than the baseline also causes a warning, because a comparison with it compares NICs.
pub(super) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (arm, rank, facts) in endpoints.all() {
        let baseline = endpoints.first(rank, plan.baseline);
        if let (Some(arm), Some(baseline)) = (plan.arms.get(arm), baseline)
            && device_pairs(facts) != device_pairs(baseline)
        {
            let warning = format!(
                "rank {rank}: arm \"{}\" uses other NICs or memory than the baseline ({} instead of {}), so a comparison \
                 compares them too: name the NICs (spec.devices.nics)",
                arm.name,
                device_pairs(facts).join("; "),
                device_pairs(baseline).join("; "),
            );
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        for rail in &facts.rails {
            let problem = match (rail.locality, &rail.gpu) {
                (Some(Locality::Remote), _) => "are on different NUMA nodes, which limits the throughput",
                (Some(Locality::Unknown), Some(_)) => {
                    "may be far from each other: the kernel does not report their positions"
                }
                _ => continue,
            };
            let warning = format!("rank {rank}: {} and {} {problem}", nic(rail), memory(rail));
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

fn memory(rail: &RailFacts) -> String {
    match (&rail.gpu, rail.memory_numa_node) {
        (Some(gpu), _) => format!("GPU {gpu}"),
        (None, Some(node)) => format!("host memory on NUMA node {node}"),
        (None, None) => "host memory".to_owned(),
    }
}

fn nic(rail: &RailFacts) -> &str {
    rail.interface.as_deref().unwrap_or(&rail.domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rail(nic: &str, gpu: Option<&str>, locality: Option<Locality>) -> RailFacts {
        RailFacts {
            interface: Some(nic.to_owned()),
            gpu: gpu.map(str::to_owned),
            locality,
            ..RailFacts::default()
        }
    }

    #[test]
    fn groups_the_nics_of_each_memory() {
        let facts = FabricFacts {
            rails: vec![
                rail("a", Some("0000:53:00.0"), Some(Locality::PciRoot)),
                rail("b", Some("0000:53:00.0"), Some(Locality::PciRoot)),
                rail("c", Some("0000:53:00.0"), Some(Locality::Remote)),
                rail("d", Some("0000:64:00.0"), Some(Locality::PciRoot)),
                rail("lo", None, None),
            ],
            ..FabricFacts::default()
        };
        assert_eq!(
            device_pairs(&facts),
            [
                "GPU 0000:53:00.0: a, b (same PCI root complex)",
                "GPU 0000:53:00.0: c (different NUMA nodes)",
                "GPU 0000:64:00.0: d (same PCI root complex)",
            ]
        );
    }
}
