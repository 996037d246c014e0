//! What the library reports about the endpoints: facts by arm, worker and round, and the protocols of each arm.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crds::protocols::ReportedProtocols;
use crds::record::FabricFacts;

use crate::collect::{Case, Reports};
use crate::format;
use crate::plan::Plan;

/// Maximum length of a setting's value in a reason, in characters.
const MAX_VALUE_CHARS: usize = 100;

/// Endpoint facts by leg, attempt, rank and arm, and the protocols of each arm.
#[derive(Debug)]
pub struct EndpointIndex<'a> {
    facts: BTreeMap<EndpointKey, Vec<RoundFacts<'a>>>,
    /// Node, or hostname if the worker did not report a node, by leg, attempt and rank.
    nodes: BTreeMap<(u32, u32, u32), &'a str>,
    /// Protocols by arm, with the counts summed over all workers and legs.
    protocols: BTreeMap<usize, ReportedProtocols>,
}

/// Leg, attempt, rank and arm.
type EndpointKey = (u32, u32, u32, usize);
/// A round and the number of restarts in it, and the facts that were reported for them. Lists are in ascending order.
type RoundFacts<'a> = ((u32, u32), &'a FabricFacts);

/// The facts that a worker must have in a case.
#[derive(Clone, Copy, Debug)]
pub(in crate::summarize) struct ExpectedFacts<'a> {
    /// Facts in the first round.
    pub first: &'a FabricFacts,
    /// Fabric that the worker must have. It replaces the fabric in `first`.
    fabric: &'a str,
}

impl ExpectedFacts<'_> {
    /// Describes the facts that must not change between rounds.
    pub fn describe(self) -> String {
        describe_with_fabric(self.first, self.fabric)
    }
}

/// Whether `fabric` is an IP address with a prefix length.
fn is_ip_subnet(fabric: &str) -> bool {
    let parts = fabric.split_once('/');
    parts.is_some_and(|(address, length)| {
        let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
        address.parse::<IpAddr>().is_ok() && is_number && length.parse::<u8>().is_ok()
    })
}

/// Describes the facts that must not change between rounds.
pub(in crate::summarize) fn describe_identity(facts: &FabricFacts) -> String {
    describe_with_fabric(facts, &facts.fabric)
}

fn describe_with_fabric(facts: &FabricFacts, fabric: &str) -> String {
    let library = facts.library.as_ref().map_or_else(String::new, |library| {
        let build = library.build_id.as_deref().unwrap_or("unknown");
        format!("{} {} (build {build}), ", library.name, library.version)
    });
    let configuration =
        configuration(facts).map_or_else(String::new, |configuration| format!(", {configuration}"));
    format!(
        "{library}provider {}, fabric {fabric}, {}{configuration}",
        facts.provider,
        format::pluralized(facts.rails.len() as u64, "rail")
    )
}

/// Describes the effective configuration of the library, with the hash that identifies it. `None` if the library does
/// not report it.
pub(in crate::summarize) fn configuration(facts: &FabricFacts) -> Option<String> {
    let hash = facts.configuration_sha256.as_ref()?;
    let files = match facts.configuration_files.as_slice() {
        [] => String::new(),
        files => format!(" (with {})", files.join(", ")),
    };
    Some(format!("configuration {hash}{files}"))
}

/// The first UCX setting that differs between `one` and `other`, formatted as `NAME=VALUE` for each of them. `None` if
/// the configurations are the same, or if the difference is in configuration files.
pub(in crate::summarize) fn first_difference(
    one: &FabricFacts,
    other: &FabricFacts,
) -> Option<(String, String)> {
    if one.configuration_sha256 == other.configuration_sha256 {
        return None;
    }
    // Device names may differ between workers, so the hash does not cover them.
    let ucx_settings = |facts: &FabricFacts| -> BTreeMap<String, String> {
        let applied = facts.settings.iter().filter(|(name, _)| *name != "NET_DEVICES");
        let applied = applied.map(|(name, value)| (format!("UCX_{name}"), value.clone()));
        let variables = facts
            .variables
            .iter()
            .filter(|(name, _)| name.starts_with("UCX_"));
        let variables = variables.map(|(name, value)| (name.clone(), value.clone()));
        applied.chain(variables).collect()
    };
    let (one, other) = (ucx_settings(one), ucx_settings(other));
    let differs = |name: &&String| one.get(*name) != other.get(*name);
    let name = one.keys().chain(other.keys()).filter(differs).min()?;
    let text = |settings: &BTreeMap<String, String>| {
        let value = settings.get(name).map_or("(not set)", String::as_str);
        format!("{name}={}", format::clipped(value, MAX_VALUE_CHARS))
    };
    Some((text(&one), text(&other)))
}

impl<'a> EndpointIndex<'a> {
    /// Indexes the endpoints in `reports`. Endpoints of arms that the plan does not contain are ignored.
    pub fn new(plan: &Plan, reports: &'a Reports) -> Self {
        let arm_named = |name: &str| plan.arms.iter().position(|arm| arm.name == name);
        let mut facts: BTreeMap<EndpointKey, Vec<RoundFacts<'_>>> = BTreeMap::new();
        for from in &reports.endpoints {
            let record = &from.record;
            if let (Some(arm), Some(fabric)) = (arm_named(&record.arm), &record.fabric) {
                let key = (from.leg, from.attempt, record.rank, arm);
                facts
                    .entry(key)
                    .or_default()
                    .push(((record.round, record.restart), fabric));
            }
        }
        facts
            .values_mut()
            .for_each(|rounds| rounds.sort_by_key(|(place, _)| *place));
        let mut protocols: BTreeMap<usize, ReportedProtocols> = BTreeMap::new();
        for from in &reports.protocols {
            let Some(arm) = arm_named(&from.record.arm) else {
                continue;
            };
            let arm_protocols = protocols.entry(arm).or_default();
            for protocol in &from.record.protocols {
                protocol.clone().add_to(&mut arm_protocols.uses);
            }
            arm_protocols.omitted += from.record.omitted;
        }
        Self {
            facts,
            nodes: reports.nodes(),
            protocols,
        }
    }

    /// Index with the facts of arm 0 in the first attempt of leg 0, given with the rank and the round, in ascending
    /// order of the rounds.
    #[cfg(test)]
    pub(in crate::summarize) fn for_arm_0(
        reported: impl IntoIterator<Item = (u32, u32, &'a FabricFacts)>,
    ) -> Self {
        let mut facts: BTreeMap<EndpointKey, Vec<RoundFacts<'_>>> = BTreeMap::new();
        for (rank, round, round_facts) in reported {
            facts
                .entry((0, 1, rank, 0))
                .or_default()
                .push(((round, 0), round_facts));
        }
        Self {
            facts,
            nodes: BTreeMap::new(),
            protocols: BTreeMap::new(),
        }
    }

    /// Protocols that the library used for `arm`; `None` if the library does not report them.
    pub fn protocols(&self, arm: usize) -> Option<&ReportedProtocols> {
        self.protocols.get(&arm)
    }

    /// Most recent facts for the arm of `case` at `rank`, up to the round and the restart of `case`.
    pub fn facts_of_case(&self, case: &Case, rank: u32) -> Option<&'a FabricFacts> {
        let rounds = self.facts.get(&(case.leg, case.attempt, rank, case.arm))?;
        let latest = rounds
            .iter()
            .rev()
            .find(|(place, _)| *place <= (case.round, case.restart));
        latest.map(|(_, facts)| *facts)
    }

    /// Facts for `arm` at `rank` in the first round that has them.
    pub fn first(&self, rank: u32, arm: usize) -> Option<&'a FabricFacts> {
        self.first_where(rank, arm, |_| true).map(|(_, facts)| facts)
    }

    /// The facts that a worker with the facts `now` in `case` must have: those of the first round.
    ///
    /// The fabric of an IP transport is the subnet of the local address. It may differ between nodes of the same
    /// network, for example if each node has its own subnet for pods. If the first round was on another node, a subnet
    /// is therefore compared with the first round on the same node.
    pub(in crate::summarize) fn expected(
        &self,
        case: &Case,
        rank: u32,
        now: &FabricFacts,
    ) -> Option<ExpectedFacts<'a>> {
        let node_of = |leg, attempt| self.nodes.get(&(leg, attempt, rank)).copied();
        let node = node_of(case.leg, case.attempt);
        // Workers without a hello record count as being on the same node.
        let is_other = |(leg, attempt)| {
            let nodes = node_of(leg, attempt).zip(node);
            nodes.is_some_and(|(one, other)| one != other)
        };
        let (stream, first) = self.first_where(rank, case.arm, |_| true)?;
        let has_subnets = is_ip_subnet(&first.fabric) && is_ip_subnet(&now.fabric);
        let (_, with_fabric) = match is_other(stream) && has_subnets {
            true => self.first_where(rank, case.arm, |stream| !is_other(stream))?,
            false => (stream, first),
        };
        Some(ExpectedFacts {
            first,
            fabric: &with_fabric.fabric,
        })
    }

    /// The facts of the earliest round for `arm` at `rank` among the legs and attempts for which `includes` returns
    /// true, with their leg and attempt. If several attempts have facts for that round, returns those of the first
    /// attempt.
    fn first_where(
        &self,
        rank: u32,
        arm: usize,
        includes: impl Fn((u32, u32)) -> bool,
    ) -> Option<((u32, u32), &'a FabricFacts)> {
        let included = self
            .facts
            .iter()
            .filter(|(key, _)| (key.2, key.3) == (rank, arm) && includes((key.0, key.1)));
        let firsts = included.filter_map(|(key, rounds)| {
            let (round, facts) = rounds.first()?;
            Some((*round, (key.0, key.1), *facts))
        });
        firsts
            .min_by_key(|(round, (_, attempt), _)| (*round, *attempt))
            .map(|(_, key, facts)| (key, facts))
    }

    /// All facts, each with its arm and rank.
    pub fn all(&self) -> impl Iterator<Item = (usize, u32, &'a FabricFacts)> + '_ {
        let lists = self.facts.iter();
        lists.flat_map(|(key, rounds)| rounds.iter().map(|(_, facts)| (key.3, key.2, *facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::failed_case;

    /// Whether rank 0 changed in each of four legs. Legs 0 and 2 run on node a, and legs 1 and 3 on node b.
    fn changes(provider: &str, fabrics: [&str; 4]) -> [bool; 4] {
        let facts = fabrics.map(|fabric| FabricFacts {
            provider: provider.to_owned(),
            fabric: fabric.to_owned(),
            ..FabricFacts::default()
        });
        let index = EndpointIndex {
            facts: (0..)
                .zip(&facts)
                .map(|(leg, facts)| ((leg, 1, 0, 0), vec![((leg, 0), facts)]))
                .collect(),
            nodes: (0..)
                .zip(["a", "b", "a", "b"])
                .map(|(leg, node)| ((leg, 1, 0), node))
                .collect(),
            protocols: BTreeMap::new(),
        };
        [0, 1, 2, 3].map(|leg| {
            let case = Case {
                leg,
                round: leg,
                restart: 0,
                ..failed_case()
            };
            let now = index.facts_of_case(&case, 0).unwrap();
            index.expected(&case, 0, now).unwrap().describe() != describe_identity(now)
        })
    }

    #[test]
    fn only_the_subnet_may_differ_between_nodes() {
        let (one, other, third) = ("10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24");
        assert_eq!(changes("tcp", [one, other, one, other]), [false; 4]);
        assert_eq!(
            changes("tcp", [one, other, other, other]),
            [false, false, true, false]
        );
        assert_eq!(
            changes("tcp", [one, other, one, third]),
            [false, false, false, true]
        );
        assert_eq!(
            changes("efa", ["efa", "efa-direct", "efa", "efa"]),
            [false, true, false, false]
        );
    }

    #[test]
    fn a_case_has_the_facts_of_its_restart() {
        let [before, after] = ["before", "after"].map(|fabric| FabricFacts {
            fabric: fabric.to_owned(),
            ..FabricFacts::default()
        });
        let index = EndpointIndex {
            facts: BTreeMap::from([((0, 1, 0, 0), vec![((2, 0), &before), ((2, 1), &after)])]),
            nodes: BTreeMap::new(),
            protocols: BTreeMap::new(),
        };
        let fabric = |round, restart| {
            let case = Case {
                leg: 0,
                round,
                restart,
                ..failed_case()
            };
            index.facts_of_case(&case, 0).map(|facts| facts.fabric.as_str())
        };
        assert_eq!([fabric(1, 3), fabric(2, 0)], [None, Some("before")]);
        assert_eq!([fabric(2, 1), fabric(3, 0)], [Some("after"), Some("after")]);
    }
}
