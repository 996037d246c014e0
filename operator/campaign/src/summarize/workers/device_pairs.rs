//! Describes which NIC accesses which memory, and warns about NICs that are far from their memory.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{FabricFacts, Locality, RailFacts};

use super::endpoints::EndpointIndex;
use crate::plan::{Arm, Plan};

/// Maximum number of NICs or ranks that a warning lists.
const MAX_LISTED: usize = 8;

/// Describes the memory and the NICs of the rails, one line for each combination of memory and position, such as `GPU
/// 0000:53:00.0: rdmap79s0, rdmap80s0 (same PCI root complex)`. Empty if no rail uses a PCI device.
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

/// Describes the memory and the NICs of the baseline at every rank, with the rank unless the description is the same
/// for all ranks.
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

/// Warnings about NICs that are not near their memory, and about arms whose NICs differ from the baseline's NICs although
/// they claim the same devices: one warning for each problem, with the NICs and ranks that it affects.
///
/// The position relative to host memory is often unknown in virtual machines, and the threads can run on any NUMA node,
/// so there is no warning if only that position is unknown.
pub(in crate::summarize) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let mut other_nics: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut far: BTreeMap<String, (BTreeSet<&str>, BTreeSet<u32>)> = BTreeMap::new();
    for (arm, rank, facts) in endpoints.all() {
        let baseline = endpoints.first(rank, plan.baseline);
        let is_comparable = |arm: &Arm| {
            plan.arms
                .get(plan.baseline)
                .is_some_and(|one| one.claims == arm.claims)
        };
        if let (Some(arm), Some(baseline)) = (plan.arms.get(arm).filter(|arm| is_comparable(arm)), baseline)
            && device_pairs(facts) != device_pairs(baseline)
        {
            let warning = format!(
                "arm \"{}\" uses different NICs or memory than the baseline ({} instead of {}), so the comparison \
                 also measures that difference: name the NICs in spec.devices.nics",
                arm.name,
                device_pairs(facts).join("; "),
                device_pairs(baseline).join("; "),
            );
            other_nics.entry(warning).or_default().insert(rank);
        }
        for (problem, nic) in far_nics(facts) {
            let (nics, ranks) = far.entry(problem).or_default();
            nics.insert(nic);
            ranks.insert(rank);
        }
    }
    let other_nics = other_nics
        .into_iter()
        .map(|(warning, ranks)| format!("{}: {warning}", rank_list(&ranks)));
    let far = far.into_iter().map(|(problem, (nics, ranks))| {
        format!(
            "{}: {}: {problem}",
            rank_list(&ranks),
            join_shortened(nics.into_iter())
        )
    });
    far.chain(other_nics).collect()
}

/// NICs that are not near their memory, each with a description of the problem.
fn far_nics(facts: &FabricFacts) -> impl Iterator<Item = (String, &str)> {
    const REMOTE: &str = "is on another NUMA node, which limits the throughput";
    let rail_problems = facts.rails.iter().filter_map(|rail| {
        let problem = match (rail.locality, &rail.gpu) {
            (Some(Locality::Remote), _) => REMOTE,
            (Some(Locality::Unknown), Some(_)) => "may be far away: the kernel does not report its position",
            _ => return None,
        };
        Some((format!("{} {problem}", memory(rail)), nic(rail)))
    });
    // The locality of a rail with a GPU is relative to the memory of that GPU, but other scenarios of the run may use
    // host memory.
    let nodes: BTreeSet<u32> = facts
        .memory
        .iter()
        .filter_map(|memory| memory.numa_node)
        .collect();
    let host_memory_problems = facts
        .rails
        .iter()
        .filter(|rail| rail.gpu.is_some())
        .flat_map(move |rail| {
            let other = nodes.clone().into_iter();
            let other = other.filter(|node| rail.numa_node.is_some_and(|own| own != *node));
            other.map(|node| (format!("{} {REMOTE}", host_memory(node)), nic(rail)))
        });
    rail_problems.chain(host_memory_problems)
}

/// Formats the ranks, such as `rank 1` or `ranks 0, 1`.
fn rank_list(ranks: &BTreeSet<u32>) -> String {
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{noun} {}", join_shortened(ranks.iter().map(u32::to_string)))
}

/// Joins the first [`MAX_LISTED`] items and appends the number of remaining items.
fn join_shortened<T: Into<String>>(items: impl Iterator<Item = T>) -> String {
    let mut items: Vec<String> = items.map(Into::into).collect();
    if let more @ 1.. = items.len().saturating_sub(MAX_LISTED) {
        items.truncate(MAX_LISTED);
        items.push(format!("{more} more"));
    }
    items.join(", ")
}

fn host_memory(node: u32) -> String {
    format!("host memory on NUMA node {node}")
}

fn memory(rail: &RailFacts) -> String {
    match (&rail.gpu, rail.memory_numa_node) {
        (Some(gpu), _) => format!("GPU {gpu}"),
        (None, Some(node)) => host_memory(node),
        (None, None) => "host memory".to_owned(),
    }
}

fn nic(rail: &RailFacts) -> &str {
    rail.interface.as_deref().unwrap_or(&rail.domain)
}

#[cfg(test)]
mod tests {
    use crds::record::MemoryFacts;
    use crds::v1alpha1::MemoryKind;

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

    #[test]
    fn describes_the_problem_of_each_far_nic() {
        let gpu = Some("0000:53:00.0");
        let mut near = rail("near", gpu, Some(Locality::PciRoot));
        near.numa_node = Some(0);
        let facts = FabricFacts {
            rails: vec![
                rail("a", gpu, Some(Locality::Remote)),
                rail("b", gpu, Some(Locality::Remote)),
                rail("c", gpu, Some(Locality::Unknown)),
                near,
                rail("lo", None, Some(Locality::Unknown)),
            ],
            memory: vec![MemoryFacts {
                scenario: "host".to_owned(),
                kind: MemoryKind::Heap,
                bytes: 1,
                registration: String::new(),
                numa_node: Some(1),
                gpus: Vec::new(),
            }],
            ..FabricFacts::default()
        };
        let found: Vec<_> = far_nics(&facts).collect();
        let remote = "GPU 0000:53:00.0 is on another NUMA node, which limits the throughput".to_owned();
        let unknown = "GPU 0000:53:00.0 may be far away: the kernel does not report its position".to_owned();
        let host =
            "host memory on NUMA node 1 is on another NUMA node, which limits the throughput".to_owned();
        assert_eq!(
            found,
            [
                (remote.clone(), "a"),
                (remote, "b"),
                (unknown, "c"),
                (host, "near")
            ]
        );
    }

    #[test]
    fn long_lists_are_shortened() {
        assert_eq!(rank_list(&[1].into()), "rank 1");
        assert_eq!(
            rank_list(&(0..10).collect()),
            "ranks 0, 1, 2, 3, 4, 5, 6, 7, 2 more"
        );
    }
}
