//! What the library reports about the endpoints: facts by arm, worker and round, and the protocols of each arm.

use std::collections::BTreeMap;

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
    /// Protocols by arm, with the counts summed over all workers and legs.
    protocols: BTreeMap<usize, ReportedProtocols>,
}

/// Leg, attempt, rank and arm.
type EndpointKey = (u32, u32, u32, usize);
/// A round, and the facts that were reported for it. Lists are in ascending order of the round.
type RoundFacts<'a> = (u32, &'a FabricFacts);

/// Describes the facts that must not change between rounds.
pub(super) fn describe_identity(facts: &FabricFacts) -> String {
    let library = facts.library.as_ref().map_or_else(String::new, |library| {
        let build = library.build_id.as_deref().unwrap_or("unknown");
        format!("{} {} (build {build}), ", library.name, library.version)
    });
    let configuration =
        configuration(facts).map_or_else(String::new, |configuration| format!(", {configuration}"));
    format!(
        "{library}provider {}, fabric {}, {} rails{configuration}",
        facts.provider,
        facts.fabric,
        facts.rails.len()
    )
}

/// Describes the effective configuration of the library, with the hash that identifies it. `None` if the library does
/// not report it.
pub(super) fn configuration(facts: &FabricFacts) -> Option<String> {
    let hash = facts.configuration_sha256.as_ref()?;
    let files = match facts.configuration_files.as_slice() {
        [] => String::new(),
        files => format!(" (with {})", files.join(", ")),
    };
    Some(format!("configuration {hash}{files}"))
}

/// The first UCX setting that differs between `one` and `other`, as `NAME=VALUE` of each. `None` if the configurations
/// are the same, or if the difference is in configuration files.
pub(super) fn first_difference(one: &FabricFacts, other: &FabricFacts) -> Option<(String, String)> {
    if one.configuration_sha256 == other.configuration_sha256 {
        return None;
    }
    // The workers name their devices differently, which the hash ignores.
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
                facts.entry(key).or_default().push((record.round, fabric));
            }
        }
        facts
            .values_mut()
            .for_each(|rounds| rounds.sort_by_key(|(round, _)| *round));
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
        Self { facts, protocols }
    }

    /// Index with the facts of arm 0 in the first attempt of leg 0, given with the rank and the round, in ascending
    /// order of the rounds.
    #[cfg(test)]
    pub(super) fn for_arm_0(reported: impl IntoIterator<Item = (u32, u32, &'a FabricFacts)>) -> Self {
        let mut facts: BTreeMap<EndpointKey, Vec<RoundFacts<'_>>> = BTreeMap::new();
        for (rank, round, round_facts) in reported {
            facts
                .entry((0, 1, rank, 0))
                .or_default()
                .push((round, round_facts));
        }
        Self {
            facts,
            protocols: BTreeMap::new(),
        }
    }

    /// Protocols that the library used for `arm`; `None` if the library does not report them.
    pub fn protocols(&self, arm: usize) -> Option<&ReportedProtocols> {
        self.protocols.get(&arm)
    }

    /// Most recent facts for the arm of `case` at `rank`, up to and including the round of `case`.
    pub fn facts_of_case(&self, case: &Case, rank: u32) -> Option<&'a FabricFacts> {
        let rounds = self.facts.get(&(case.leg, case.attempt, rank, case.arm))?;
        let latest = rounds.iter().rev().find(|(round, _)| *round <= case.round);
        latest.map(|(_, facts)| *facts)
    }

    /// Facts for `arm` at `rank` in the first round that has them.
    pub fn first(&self, rank: u32, arm: usize) -> Option<&'a FabricFacts> {
        let arm_facts = self.facts.iter().filter(|(key, _)| (key.2, key.3) == (rank, arm));
        let firsts =
            arm_facts.filter_map(|(key, rounds)| rounds.first().map(|(round, facts)| (round, key.1, facts)));
        firsts
            .min_by_key(|(round, attempt, _)| (**round, *attempt))
            .map(|(_, _, facts)| *facts)
    }

    /// All facts, each with its arm and rank.
    pub fn all(&self) -> impl Iterator<Item = (usize, u32, &'a FabricFacts)> + '_ {
        let lists = self.facts.iter();
        lists.flat_map(|(key, rounds)| rounds.iter().map(|(_, facts)| (key.3, key.2, *facts)))
    }
}
