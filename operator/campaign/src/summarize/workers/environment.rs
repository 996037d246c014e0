//! Collects the workers' environment from their hello and endpoint records.

use std::collections::BTreeMap;

use crds::record::{CaseResult, FabricFacts, HelloRecord};
use crds::v1alpha1::EnvironmentSummary;
use serde::Serialize;

use super::endpoints::EndpointIndex;
use super::{claims, device_pairs};
use crate::collect::Reports;
use crate::distinct::distinct;
use crate::plan::Plan;

/// Environment of the workers.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    /// Start time of the first stream (RFC 3339, UTC).
    pub started_at: Option<String>,
    /// Sum, over all streams, of the time from the start of the stream to the end of its last verified case, in
    /// nanoseconds.
    pub duration_nanos: u64,
    /// Runner versions.
    pub runner_versions: Vec<String>,
    /// Every worker of every leg, as described in the last attempt of the leg.
    pub workers: Vec<Worker>,
    /// The most recent facts that the library returned for each arm at rank 0.
    pub arms: Vec<ArmFacts>,
    /// Memory and NICs of the baseline rails, with the rank unless they are the same at all ranks. Empty if no rail
    /// uses a PCI device.
    pub device_pairs: Vec<String>,
    /// Devices that the workers of each arm obtained from their claims, such as `aligned: gpu-0, rdmap16s27 (same PCI root
    /// complex)`. Empty if no arm claims devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
}

/// A worker in one leg.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Leg number.
    pub leg: u32,
    /// Hello record of the worker.
    pub hello: HelloRecord,
}

/// Facts that the library returned for an arm.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArmFacts {
    /// Name of the arm.
    pub arm: String,
    /// Rank of the worker.
    pub rank: u32,
    /// Facts that the library returned.
    pub fabric: FabricFacts,
}

pub(in crate::summarize) fn environment(
    plan: &Plan,
    reports: &Reports,
    endpoints: &EndpointIndex<'_>,
) -> Environment {
    let mut workers: Vec<Worker> = Vec::new();
    for from in &reports.hellos {
        let known = workers
            .iter_mut()
            .find(|worker| (worker.leg, worker.hello.rank) == (from.leg, from.record.rank));
        match known {
            Some(worker) if worker.hello.identity.attempt <= from.attempt => {
                worker.hello = from.record.clone()
            }
            Some(_) => {}
            None => workers.push(Worker {
                leg: from.leg,
                hello: from.record.clone(),
            }),
        }
    }
    workers.sort_by_key(|worker| (worker.leg, worker.hello.rank));
    let endpoints_of = |name: &str| {
        let mut all = reports.endpoints.iter();
        let last = all.rfind(|from| from.record.arm == name && from.record.rank == 0)?;
        Some(ArmFacts {
            arm: name.to_owned(),
            rank: 0,
            fabric: last.record.fabric.clone()?,
        })
    };
    Environment {
        started_at: reports.streams.first().map(|stream| stream.started_at.clone()),
        duration_nanos: duration(reports),
        runner_versions: distinct(reports.streams.iter().map(|stream| stream.runner_version.clone())),
        arms: plan
            .arms
            .iter()
            .filter_map(|arm| endpoints_of(&arm.name))
            .collect(),
        device_pairs: device_pairs::by_rank(plan, endpoints),
        claims: claims::by_arm(plan, reports),
        workers,
    }
}

fn duration(reports: &Reports) -> u64 {
    let mut ends: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for case in &reports.cases {
        let window = match &case.outcome {
            CaseResult::Measured(measured) => {
                measured.initiator.window_nanos.max(measured.target.window_nanos)
            }
            CaseResult::Checked(_) | CaseResult::Failed(_) => 0,
        };
        let end = ends.entry((case.leg, case.attempt)).or_default();
        *end = (*end).max(case.started_nanos + window);
    }
    ends.values().sum()
}

impl Environment {
    /// Summarizes the environment for the status.
    pub fn summary(&self) -> EnvironmentSummary {
        let hosts = || self.workers.iter().map(|worker| &worker.hello.environment);
        let polling = self.arms.iter().flat_map(|arm| arm.fabric.polling.values());
        EnvironmentSummary {
            kernels: distinct(hosts().map(|host| host.kernel.clone())),
            cpu_models: distinct(hosts().map(|host| host.cpu_model.clone())),
            libraries: self.libraries(),
            polling: distinct(polling.map(|polling| format!("{polling:?}"))),
            instance_types: distinct(hosts().filter_map(|host| host.hardware.instance_type.clone())),
            devices: distinct(hosts().flat_map(|host| host.hardware.devices())),
        }
    }

    /// Loaded libraries, with version and path.
    pub fn libraries(&self) -> Vec<String> {
        let libraries = self.arms.iter().filter_map(|arm| arm.fabric.library.as_ref());
        distinct(libraries.map(|library| format!("{} {} ({})", library.name, library.version, library.path)))
    }
}
