//! Devices that the workers' claims obtained, and their positions. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crds::record::{ClaimRecord, ClaimedDevice};

use crate::collect::Reports;
use crate::plan::Plan;

/// Position of the devices of a group relative to each other, according to the attributes that their drivers publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::summarize) enum Position {
    PciRoot,
    NumaNode,
    OtherPciRoots,
    OtherNumaNodes,
    Unknown,
}

impl Position {
    fn of(devices: &[ClaimedDevice]) -> Self {
        let roots: Option<BTreeSet<_>> = devices.iter().map(|device| device.pci_root.as_ref()).collect();
        let nodes: Option<BTreeSet<_>> = devices.iter().map(|device| device.numa_node).collect();
        let is_single = |number: usize| number == 1;
        match (
            roots.map(|roots| is_single(roots.len())),
            nodes.map(|nodes| is_single(nodes.len())),
        ) {
            (Some(true), _) => Self::PciRoot,
            (_, Some(true)) => Self::NumaNode,
            (_, Some(false)) => Self::OtherNumaNodes,
            (Some(false), None) => Self::OtherPciRoots,
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PciRoot => "same PCI root complex",
            Self::NumaNode => "same NUMA node",
            Self::OtherPciRoots => "different PCI root complexes",
            Self::OtherNumaNodes => "different NUMA nodes",
            Self::Unknown => "position not published by the drivers",
        })
    }
}

/// Describes the devices of a group, such as `gpu-0, rdmap16s27 (same PCI root complex)`.
fn describe(devices: &[ClaimedDevice]) -> String {
    let names: Vec<&str> = devices.iter().map(ClaimedDevice::name).collect();
    let names = names.join(", ");
    match devices.len() {
        0 => "no devices".to_owned(),
        1 => names,
        _ => format!("{names} ({})", Position::of(devices)),
    }
}

/// Driver, pool and name of each device of a group, on a node. The rank does not matter: a worker may have another rank in
/// another leg.
type GroupDevices<'a> = (Option<&'a str>, BTreeSet<(&'a str, &'a str, &'a str)>);

fn identity(record: &ClaimRecord) -> GroupDevices<'_> {
    let devices = record.devices.iter();
    let identities = devices.map(|one| (one.driver.as_str(), one.pool.as_str(), one.device.as_str()));
    (record.node.as_deref(), identities.collect())
}

/// What the claims of one arm's workers obtained, up to a round.
pub(crate) struct ObtainedDevices<'a> {
    records: Vec<&'a ClaimRecord>,
    /// Why not all devices are known.
    pub(in crate::summarize) unread: Option<String>,
}

impl<'a> ObtainedDevices<'a> {
    /// What the workers of `arm` obtained in the legs that start no later than round `last_round`.
    pub(crate) fn new(plan: &Plan, reports: &'a Reports, arm: usize, last_round: u32) -> Self {
        let legs: BTreeSet<u32> = plan.legs_of_arm(arm, last_round).map(|leg| leg.leg).collect();
        let all = reports.claims.iter();
        let records: Vec<_> = all
            .filter(|from| legs.contains(&from.leg))
            .map(|from| &from.record)
            .collect();
        let of_unread = records.iter().find(|record| record.devices.is_empty());
        let unread = match (of_unread, records.is_empty()) {
            (Some(record), _) => Some(
                record
                    .unread
                    .clone()
                    .unwrap_or_else(|| "the claim has no devices".to_owned()),
            ),
            (None, true) => Some("the records of this arm do not contain its devices".to_owned()),
            (None, false) => None,
        };
        Self { records, unread }
    }

    /// The devices on each node, in all legs.
    pub(in crate::summarize) fn devices(&self) -> BTreeSet<GroupDevices<'a>> {
        self.records.iter().map(|record| identity(record)).collect()
    }

    /// Numbers of groups in each position.
    pub(in crate::summarize) fn positions(&self) -> BTreeSet<Position> {
        self.records
            .iter()
            .map(|record| Position::of(&record.devices))
            .collect()
    }

    /// Describes devices that an attempt did not obtain, but another attempt of the same arm did; `None` if all attempts
    /// obtained the same devices.
    pub(crate) fn changed(&self) -> Option<String> {
        let mut attempts: BTreeMap<(u32, u32), BTreeSet<GroupDevices<'_>>> = BTreeMap::new();
        for record in self.records.iter().filter(|record| !record.devices.is_empty()) {
            let attempt = (record.identity.leg, record.identity.attempt);
            attempts.entry(attempt).or_default().insert(identity(record));
        }
        let (_, first) = attempts.first_key_value()?;
        let other = attempts.values().find(|devices| *devices != first)?;
        let missing = first.symmetric_difference(other).next()?;
        Some(self.describe_identity(missing))
    }

    /// Describes a group that only one of two arms obtained; `None` if both obtained the same devices, or if not all
    /// devices are known.
    pub(crate) fn differs_from(&self, other: &ObtainedDevices<'_>) -> Option<String> {
        if self.unread.is_some() || other.unread.is_some() {
            return None;
        }
        let (own, others) = (self.devices(), other.devices());
        let only_own = own.iter().find(|group| !others.contains(*group));
        let only_other = || others.iter().find(|group| !own.contains(*group));
        only_own
            .map(|group| self.describe_identity(group))
            .or_else(|| only_other().map(|group| other.describe_identity(group)))
    }

    fn describe_identity(&self, group: &GroupDevices<'_>) -> String {
        let record = self.records.iter().find(|record| identity(record) == *group);
        let devices = record.map_or_else(String::new, |record| describe(&record.devices));
        match group.0 {
            Some(node) => format!("{devices} on node {node}"),
            None => devices,
        }
    }

    pub(in crate::summarize) fn first(&self) -> String {
        self.records
            .first()
            .map_or_else(String::new, |record| describe(&record.devices))
    }
}

/// Describes the devices of each arm that claims any: one line for each group, with the rank unless the devices have the
/// same names at all ranks. The first attempt counts.
pub(super) fn by_arm(plan: &Plan, reports: &Reports) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, arm) in plan
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.claims.is_some())
    {
        let obtained = ObtainedDevices::new(plan, reports, index, u32::MAX);
        let Some(first) = obtained.records.first().map(|record| &record.identity) else {
            continue;
        };
        let mut ranks: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for record in obtained.records.iter().filter(|record| record.identity == *first) {
            let devices = match &record.unread {
                Some(unread) if record.devices.is_empty() => format!("not known: {unread}"),
                _ => describe(&record.devices),
            };
            ranks.entry(record.rank).or_default().push(devices);
        }
        let Some(of_first) = ranks.first_key_value().map(|(_, groups)| groups.clone()) else {
            continue;
        };
        match ranks.values().all(|groups| *groups == of_first) {
            true => lines.extend(of_first.iter().map(|devices| format!("{}: {devices}", arm.name))),
            false => lines.extend(ranks.iter().flat_map(|(rank, groups)| {
                groups
                    .iter()
                    .map(move |devices| format!("{}: rank {rank}: {devices}", arm.name))
            })),
        }
    }
    lines
}

/// Warnings about devices or attributes that could not be read.
pub(in crate::summarize) fn warnings(reports: &Reports) -> Vec<String> {
    let unread = reports.claims.iter().filter_map(|from| {
        let reason = from.record.unread.as_ref()?;
        Some(format!(
            "the devices of the claims are not completely known: {reason}"
        ))
    });
    unread.collect()
}

#[cfg(test)]
mod tests;
