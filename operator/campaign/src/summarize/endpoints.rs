//! What the library reported about the endpoints: facts by arm, worker and round, and the protocols of each arm.

use std::collections::BTreeMap;

use crds::record::{FabricFacts, ProtocolUse};

use crate::collect::{Case, Reports};
use crate::plan::Plan;

/// Endpoint facts by leg, attempt, rank and arm, and the protocols of each arm.
#[derive(Debug)]
pub struct EndpointIndex<'a> {
    facts: BTreeMap<EndpointKey, Vec<RoundFacts<'a>>>,
    /// Protocols by arm, with the sums of the counts of all workers and legs.
    protocols: BTreeMap<usize, Vec<ProtocolUse>>,
}

/// Leg, attempt, rank and arm.
type EndpointKey = (u32, u32, u32, usize);
/// A round, and the facts that were reported for it. Lists are in ascending order of the round.
type RoundFacts<'a> = (u32, &'a FabricFacts);

/// Describes the facts that must not change between rounds.
pub(super) fn identity(facts: &FabricFacts) -> String {
    let library = facts.library.as_ref().map_or_else(String::new, |library| {
        let build = library.build_id.as_deref().unwrap_or("unknown");
        format!("{} {} (build {build}), ", library.name, library.version)
    });
    format!(
        "{library}provider {}, fabric {}, {} rails",
        facts.provider,
        facts.fabric,
        facts.rails.len()
    )
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
        let mut protocols: BTreeMap<usize, Vec<ProtocolUse>> = BTreeMap::new();
        for from in &reports.protocols {
            let Some(arm) = arm_named(&from.record.arm) else {
                continue;
            };
            let of_arm = protocols.entry(arm).or_default();
            for protocol in &from.record.protocols {
                protocol.clone().add_to(of_arm);
            }
        }
        Self { facts, protocols }
    }

    /// Protocols that the library used for `arm`. Empty if the library does not report them.
    pub fn protocols(&self, arm: usize) -> &[ProtocolUse] {
        self.protocols.get(&arm).map_or(&[], Vec::as_slice)
    }

    /// Most recent facts for the arm of `case` at `rank`, up to and including the round of `case`.
    pub fn facts_of_case(&self, case: &Case, rank: u32) -> Option<&'a FabricFacts> {
        let rounds = self.facts.get(&(case.leg, case.attempt, rank, case.arm))?;
        let latest = rounds.iter().rev().find(|(round, _)| *round <= case.round);
        latest.map(|(_, facts)| *facts)
    }

    /// Facts for `arm` at `rank` in the first round that has them.
    pub fn first(&self, rank: u32, arm: usize) -> Option<&'a FabricFacts> {
        let of_arm = self.facts.iter().filter(|(key, _)| (key.2, key.3) == (rank, arm));
        let firsts =
            of_arm.filter_map(|(key, rounds)| rounds.first().map(|(round, facts)| (round, key.1, facts)));
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
