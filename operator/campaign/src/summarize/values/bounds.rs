//! Upper bounds on the throughput of each scenario, which help to interpret the measured values. A bound is omitted if
//! it depends on a fact that is unknown.

use std::collections::BTreeMap;

use crds::record::{FabricFacts, HostEnvironment, NicFacts};
use crds::v1alpha1::MemoryKind;
use serde::Serialize;

use crate::plan::Plan;
use crate::summarize::workers::environment::Environment;

/// An upper bound on the throughput of a scenario with transfers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpperBound {
    /// Index of the scenario in the plan.
    #[serde(skip)]
    pub scenario: usize,
    /// Resource that limits the throughput.
    pub resource: BoundingResource,
    /// Maximum throughput in payload bytes per second, in the direction or directions of the scenario.
    pub bytes_per_second: f64,
}

/// Resource that limits the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum BoundingResource {
    /// The network links of the baseline's NICs.
    LineRate,
    /// The PCI links of the baseline's NICs.
    PciLink,
    /// The CPUs, if no rail has a PCI device and the memory is not on a GPU: a thread on each side copies each byte at
    /// least once. No more threads copy at the same time than a worker has CPUs.
    Copy,
}

/// Factor by which the bound of one pair is multiplied to obtain the bound of a measured throughput. For the pairwise
/// pattern, the factor is 1. In the many-to-many pattern, one throughput covers all flows, and the links of the smaller
/// side limit it. `None` for a copy in the many-to-many pattern, because the threads of the flows share CPUs.
fn pair_bound_factor(plan: &Plan, resource: BoundingResource) -> Option<f64> {
    let Some(pattern) = plan.many_to_many else {
        return Some(1.0);
    };
    match resource {
        BoundingResource::LineRate | BoundingResource::PciLink => {
            Some(f64::from(pattern.senders.min(pattern.receivers)))
        }
        BoundingResource::Copy => None,
    }
}

/// Computes the bounds of every scenario with transfers, from the facts that the workers reported about the baseline
/// and about their hosts.
pub(in crate::summarize) fn bounds(plan: &Plan, environment: &Environment) -> Vec<UpperBound> {
    let name = plan.arms.get(plan.baseline).map(|arm| &arm.name);
    let arm = environment.arms.iter().find(|arm| Some(&arm.arm) == name);
    let Some(facts) = arm.map(|arm| &arm.fabric) else {
        return Vec::new();
    };
    let hosts = || environment.workers.iter().map(|worker| &worker.hello.environment);
    let links = [
        (
            BoundingResource::LineRate,
            facts.line_rate().map(|bits| bits as f64 / 8.0),
        ),
        (
            BoundingResource::PciLink,
            hosts().next().and_then(|host| pci_rate(facts, host)),
        ),
    ];
    let copy_rate = copy_rate(facts, hosts());
    let cpus = hosts()
        .filter_map(HostEnvironment::cpu_count)
        .min_by(f64::total_cmp);
    let mut bounds = Vec::new();
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        let workload = &planned.assignment.workload;
        if !workload.is_pipelined() {
            continue;
        }
        let both_post = if workload.is_bidirectional() { 2.0 } else { 1.0 };
        // If written memory is read back, the writes of some threads use one direction of the links while the reads of other threads
        // use the opposite direction. A thread copies written and read bytes one after another.
        let directions = if workload.reads_back() { 2.0 } else { both_post };
        let threads = f64::from(workload.threads());
        let never_copied_by_gpus = !planned.assignment.uses(MemoryKind::Cuda);
        let copies = copy_rate
            .filter(|_| never_copied_by_gpus)
            .map(|rate| rate * concurrent_copies(threads * both_post, cpus));
        let links = links.map(|(resource, rate)| (resource, rate.map(|rate| rate * directions)));
        let known = links.into_iter().chain([(BoundingResource::Copy, copies)]);
        let known = known.map(|(resource, rate)| {
            (
                resource,
                rate.zip(pair_bound_factor(plan, resource))
                    .map(|(rate, factor)| rate * factor),
            )
        });
        bounds.extend(known.filter_map(|(resource, rate)| {
            Some(UpperBound {
                scenario,
                resource,
                bytes_per_second: rate?,
            })
        }));
    }
    bounds
}

/// Total rate of the NICs' PCI links, in bytes per second.
fn pci_rate(facts: &FabricFacts, host: &HostEnvironment) -> Option<f64> {
    let rates = facts.rails.iter().map(|rail| {
        let name = rail.interface.as_deref()?;
        let nic = host.hardware.nics.iter().find(|nic| nic.name == name)?;
        Some((name, link_rate(nic)?))
    });
    let by_nic: BTreeMap<&str, f64> = rates.collect::<Option<_>>()?;
    let sum: f64 = by_nic.values().sum();
    (sum > 0.0).then_some(sum)
}

/// Rate of the PCI link of `nic` in bytes per second, after encoding overhead (PCI Express Base Specification 6.0):
/// 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, and above that 236 bytes of transaction-layer packets in each 256-byte
/// flit. Packet headers reduce the usable rate further.
fn link_rate(nic: &NicFacts) -> Option<f64> {
    let transfers: f64 = nic
        .link_speed
        .as_deref()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()?;
    let efficiency = match transfers {
        ..=5.0 => 0.8,
        ..=32.0 => 128.0 / 130.0,
        _ => 236.0 / 256.0,
    };
    Some(transfers * 1e9 * f64::from(nic.link_width?) * efficiency / 8.0)
}

/// Number of threads that copy at the same time: not more than the CPUs of the worker with the fewest, if they are known.
fn concurrent_copies(threads: f64, cpus: Option<f64>) -> f64 {
    cpus.map_or(threads, |cpus| threads.min(cpus))
}

/// Rate at which a thread on the slowest host copies memory, in bytes per second; `None` if a rail has a PCI device.
fn copy_rate<'a>(facts: &FabricFacts, hosts: impl Iterator<Item = &'a HostEnvironment>) -> Option<f64> {
    if facts.rails.iter().any(|rail| rail.pci.is_some()) {
        return None;
    }
    let rates = hosts.map(|host| host.copy_bytes_per_second);
    let slowest = rates.collect::<Option<Vec<u64>>>()?.into_iter().min()?;
    Some(slowest as f64)
}

#[cfg(test)]
mod tests {
    use crds::record::{HardwareFacts, RailFacts};

    use super::*;

    fn rail(interface: &str, pci: Option<&str>) -> RailFacts {
        RailFacts {
            interface: Some(interface.to_owned()),
            pci: pci.map(str::to_owned),
            ..RailFacts::default()
        }
    }

    fn facts(rails: Vec<RailFacts>) -> FabricFacts {
        FabricFacts {
            rails,
            ..FabricFacts::default()
        }
    }

    #[test]
    fn pci_rate_follows_from_speed_and_width() {
        let nic = |speed: &str, width| NicFacts {
            name: "a".to_owned(),
            link_speed: Some(speed.to_owned()),
            link_width: width,
            ..NicFacts::default()
        };
        let rate = |speed: &str| link_rate(&nic(speed, Some(16))).unwrap();
        assert_eq!(rate("5.0 GT/s PCIe"), 8e9);
        assert_eq!(rate("16.0 GT/s PCIe").round(), 31_507_692_308.0);
        assert_eq!(rate("64.0 GT/s PCIe"), 118e9);
        assert_eq!(link_rate(&nic("32.0 GT/s PCIe", None)), None);
        assert_eq!(link_rate(&nic("Unknown", Some(16))), None);
        let host = HostEnvironment {
            hardware: HardwareFacts {
                nics: vec![nic("5.0 GT/s PCIe", Some(16))],
                ..HardwareFacts::default()
            },
            ..HostEnvironment::default()
        };
        let two = facts(vec![rail("a", None), rail("a", None)]);
        assert_eq!(pci_rate(&two, &host), Some(8e9));
        assert_eq!(pci_rate(&facts(vec![rail("other", None)]), &host), None);
    }

    /// Four threads on two CPUs copy no more than two.
    #[test]
    fn threads_beyond_the_cpus_copy_nothing_more() {
        assert_eq!(concurrent_copies(4.0, Some(2.0)), 2.0);
        assert_eq!(concurrent_copies(1.0, Some(2.0)), 1.0);
        assert_eq!(concurrent_copies(4.0, None), 4.0);
    }

    #[test]
    fn copies_bound_only_transports_without_a_device() {
        let host = |rate| HostEnvironment {
            copy_bytes_per_second: rate,
            ..HostEnvironment::default()
        };
        let software = facts(vec![rail("lo", None)]);
        let rate = |hosts: &[HostEnvironment]| copy_rate(&software, hosts.iter());
        assert_eq!(rate(&[host(Some(5)), host(Some(3))]), Some(3.0));
        assert_eq!(rate(&[host(Some(5)), host(None)]), None);
        let device = facts(vec![rail("a", Some("0000:53:00.0"))]);
        assert_eq!(copy_rate(&device, [host(Some(5))].iter()), None);
    }
}
