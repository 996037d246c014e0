//! Configurations that the workers recorded, by arm, scenario and rank. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{ConfigurationRecord, EndpointsRecord, LoadedFile, VariableFacts};

use super::claims::ObtainedDevices;
use super::lanes::UcxLanes;
use crate::collect::Reports;
use crate::plan::Plan;

/// Configuration of an arm's processes at one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::summarize) struct Configuration<'a> {
    /// What is known about the variables that the variants set, by name.
    pub variables: BTreeMap<&'a str, &'a VariableFacts>,
    /// Loaded files that the records list.
    pub files: BTreeSet<&'a LoadedFile>,
    /// Hash of all loaded files; `None` if it is unknown.
    pub files_sha256: Option<&'a str>,
    /// Why the list of loaded files may be incomplete.
    pub incomplete: Option<&'a str>,
    /// Lanes of the endpoints of UCX; `None` if they are not known.
    pub lanes: Option<UcxLanes<'a>>,
}

/// Arm, command scenario and rank. The scenario is `None` for the instrument process.
type Key<'a> = (usize, Option<&'a str>, u32);

/// Configurations by arm, command scenario and rank, and the devices that the arms' claims obtained.
#[derive(Default)]
pub(in crate::summarize) struct ConfigurationIndex<'a> {
    configurations: BTreeMap<Key<'a>, Configuration<'a>>,
    /// By arm.
    devices: BTreeMap<usize, ObtainedDevices<'a>>,
}

impl<'a> ConfigurationIndex<'a> {
    /// Indexes the records in `reports`. Arms that the plan does not contain are ignored.
    pub fn new(plan: &Plan, reports: &'a Reports) -> Self {
        let mut index = Self::from_records(plan, reports.configurations.iter().map(|from| &from.record));
        index.add_lanes(plan, reports.endpoints.iter().map(|from| &from.record));
        let claiming = plan
            .arms
            .iter()
            .enumerate()
            .filter(|(_, arm)| arm.claims.is_some());
        index.devices = claiming
            .map(|(arm, _)| (arm, ObtainedDevices::new(plan, reports, arm, u32::MAX)))
            .collect();
        index
    }

    /// Adds the lanes in `endpoints` to the configurations of the instrument processes.
    pub fn add_lanes(&mut self, plan: &Plan, endpoints: impl Iterator<Item = &'a EndpointsRecord> + Clone) {
        for ((arm, scenario, rank), configuration) in &mut self.configurations {
            let Some(arm) = plan.arms.get(*arm).filter(|_| scenario.is_none()) else {
                continue;
            };
            let own = endpoints
                .clone()
                .filter(|record| record.rank == *rank && record.arm == arm.name);
            let facts = own.filter_map(|record| record.fabric.as_ref());
            configuration.lanes = UcxLanes::new(plan.transport_of(arm), facts);
        }
    }

    /// Indexes `records`.
    pub fn from_records(plan: &Plan, records: impl Iterator<Item = &'a ConfigurationRecord>) -> Self {
        let mut index = Self::default();
        for record in records {
            for (arm, _) in plan
                .arms
                .iter()
                .enumerate()
                .filter(|(_, arm)| record.arms.contains(&arm.name))
            {
                for rank in &record.ranks {
                    index.add((arm, record.scenario.as_deref(), *rank), record);
                }
            }
        }
        index
    }

    /// Adds a part of a configuration. If a later leg or attempt recorded another configuration, the first facts about a
    /// variable count, and the loaded files are unknown.
    fn add(&mut self, key: Key<'a>, record: &'a ConfigurationRecord) {
        let is_new = !self.configurations.contains_key(&key);
        let configuration = self.configurations.entry(key).or_default();
        for variable in &record.variables {
            configuration.variables.entry(&variable.name).or_insert(variable);
        }
        configuration.files.extend(&record.files);
        let files_sha256 = record.files_sha256.as_deref();
        if is_new {
            configuration.files_sha256 = files_sha256;
            configuration.incomplete = record.incomplete.as_deref();
        } else if configuration.files_sha256 != files_sha256 {
            configuration.files_sha256 = None;
            configuration.incomplete = Some("the loaded files differ between attempts or legs");
        }
    }

    /// Devices that the claims of `arm` obtained; `None` if it claims none.
    pub fn devices(&self, arm: usize) -> Option<&ObtainedDevices<'a>> {
        self.devices.get(&arm)
    }

    /// Configurations of `arm` in the command scenario `scenario`, or of its instrument process, each with the
    /// configuration of `reference` at the same rank.
    pub fn pairs(
        &self,
        arm: usize,
        reference: usize,
        scenario: Option<&str>,
    ) -> Vec<(u32, &Configuration<'a>, &Configuration<'a>)> {
        let of_arm = |arm: usize| {
            let all = self.configurations.iter();
            all.filter(move |((one, of, _), _)| *one == arm && *of == scenario)
        };
        let pairs = of_arm(arm).filter_map(|((_, _, rank), configuration)| {
            let other = of_arm(reference).find(|((_, _, other), _)| other == rank)?;
            Some((*rank, configuration, other.1))
        });
        pairs.collect()
    }
}
