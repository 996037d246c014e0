//! Checks, before a gang is created, whether the cluster has enough nodes for its workers. Performs no I/O.
//!
//! The check uses the allocatable resources of nodes, not the free ones: it is up to the scheduler to wait for free
//! resources. The error message lists the nodes that do not meet the requirements, with the reasons and the amounts.

mod node;
mod quantity;

use std::collections::{BTreeMap, BTreeSet};

use crds::units::Size;
use crds::v1alpha1::{Placement, PreflightMode, Toleration};
use snafu::Snafu;

pub(super) use node::{Amounts, NodeState, Taint};

use super::build::resources::WorkerResources;

/// Maximum number of list entries in a message.
const MAX_LISTED: usize = 8;

/// Requirements of a run's workers.
#[derive(Clone, Debug)]
pub(super) struct Requirements<'a> {
    /// Number of workers and constraints on their nodes.
    pub placement: &'a Placement,
    /// Resources of each worker.
    pub resources: WorkerResources,
    /// Nodes of the earlier attempts, on which the workers must run. Empty before the first attempt.
    pub nodes: &'a [String],
}

/// Nodes that meet the workers' placement and resource requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    /// Names of the nodes.
    pub nodes: BTreeSet<String>,
    /// Whether any of the nodes has a zone label. Without zone labels, workers cannot be kept in one zone.
    pub zoned: bool,
}

/// Error returned if too few nodes meet the requirements. The status contains its message.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub(super) enum PreflightError {
    /// No node matches the node selector.
    #[snafu(display("none of the {nodes} nodes has the labels {labels} (spec.placement.nodeSelector)"))]
    NoLabels {
        /// Number of nodes in the cluster.
        nodes: usize,
        /// The node selector.
        labels: String,
    },
    /// A node of the earlier attempts is gone.
    #[snafu(display(
        "node {node} is gone, but the finished blocks were measured on it, and blocks from different nodes cannot be \
         compared"
    ))]
    NodeGone {
        /// Name of the node.
        node: String,
    },
    /// Too few of the nodes that match the node selector meet the other requirements.
    #[snafu(display(
        "{workers} nodes are needed, but only {fit} of {matching} meet the requirements: {reasons}"
    ))]
    TooFew {
        /// Number of eligible nodes.
        fit: usize,
        /// Number of nodes that match the node selector.
        matching: usize,
        /// Number of nodes needed.
        workers: u32,
        /// Why the other nodes are not eligible.
        reasons: String,
    },
    /// No zone has enough eligible nodes.
    #[snafu(display(
        "{workers} nodes in one zone are needed (spec.placement.singleZone), but the eligible nodes are in \
         several zones: {zones}"
    ))]
    SeveralZones {
        /// Number of nodes needed.
        workers: u32,
        /// Zones, each with its number of eligible nodes.
        zones: String,
    },
}

impl PreflightError {
    /// Whether the run waits because of this error or only reports it as a warning. Workers that are bound to the nodes
    /// of earlier attempts wait for these nodes, because no other node can replace them.
    pub(super) fn mode(&self, requirements: &Requirements<'_>) -> PreflightMode {
        let placement = requirements.placement;
        let may_grow = placement.queue_name.is_some() || matches!(self, Self::NoLabels { .. });
        let default = match may_grow {
            true => PreflightMode::Warn,
            false => PreflightMode::Wait,
        };
        match requirements.nodes.is_empty() {
            true => placement.preflight.unwrap_or(default),
            false => PreflightMode::Wait,
        }
    }
}

/// Returns the nodes on which the workers may run.
///
/// # Errors
/// Returns an error if there are too few of them.
pub(super) fn preflight(
    requirements: &Requirements<'_>,
    nodes: &[NodeState],
) -> Result<Candidates, PreflightError> {
    let placement = requirements.placement;
    let missing = requirements
        .nodes
        .iter()
        .find(|name| !nodes.iter().any(|node| node.name == **name));
    if let Some(node) = missing {
        return Err(PreflightError::NodeGone { node: node.clone() });
    }
    let matching: Vec<_> = nodes.iter().filter(|node| matches(node, requirements)).collect();
    if matching.is_empty() {
        let labels = placement
            .node_selector
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        return Err(PreflightError::NoLabels {
            nodes: nodes.len(),
            labels: labels.collect::<Vec<_>>().join(", "),
        });
    }
    let mut fit = Vec::new();
    let mut unfit = Vec::new();
    for node in &matching {
        match mismatch(node, requirements) {
            None => fit.push(*node),
            Some(reason) => unfit.push(format!("{}: {reason}", node.name)),
        }
    }
    if fit.len() < placement.worker_count() as usize {
        return Err(PreflightError::TooFew {
            fit: fit.len(),
            matching: matching.len(),
            workers: placement.worker_count(),
            reasons: match unfit.is_empty() {
                true => "no other node matches".to_owned(),
                false => join_limited(unfit),
            },
        });
    }
    in_one_zone(&fit, placement)
}

/// Returns the nodes on which a single worker may run, even if there are too few of them.
pub(super) fn eligible_nodes(requirements: &Requirements<'_>, nodes: &[NodeState]) -> BTreeSet<String> {
    let fits = |node: &&NodeState| matches(node, requirements) && mismatch(node, requirements).is_none();
    nodes.iter().filter(fits).map(|node| node.name.clone()).collect()
}

/// Whether `node` has the labels in the node selector, and is one of the nodes of the earlier attempts if there are any.
fn matches(node: &NodeState, requirements: &Requirements<'_>) -> bool {
    let allowed = requirements.nodes.is_empty() || requirements.nodes.contains(&node.name);
    let mut labels = requirements.placement.node_selector.iter();
    allowed && labels.all(|(key, value)| node.labels.get(key) == Some(value))
}

/// Returns why `node` is not eligible; `None` if it is eligible.
fn mismatch(node: &NodeState, requirements: &Requirements<'_>) -> Option<String> {
    if !node.ready {
        return Some("not ready".to_owned());
    }
    if node.unschedulable {
        return Some("cordoned".to_owned());
    }
    let tolerated = |taint: &&Taint| {
        requirements
            .placement
            .tolerations
            .iter()
            .any(|toleration| tolerates(toleration, taint))
    };
    if let Some(taint) = node.taints.iter().find(|taint| !tolerated(taint)) {
        return Some(format!("has the taint {taint}, which is not tolerated"));
    }
    shortage(&node.allocatable, &requirements.resources).or_else(|| {
        let exclusive = requirements.placement.exclusive;
        exclusive
            .then(|| surplus(&node.allocatable, &requirements.resources))
            .flatten()
    })
}

/// Describes the first resource that the node has too little of.
fn shortage(available: &Amounts, requested: &WorkerResources) -> Option<String> {
    let count = |available: u64, requested: u32, name: &str| {
        (available < u64::from(requested)).then(|| format!("{available} of {requested} {name}"))
    };
    let bytes = |available: u64, requested: u64, name: &str| {
        (available < requested).then(|| format!("{} of {} of {name}", Size(available), Size(requested)))
    };
    let cpus = (available.cpu_millis < u64::from(requested.cpus) * 1000)
        .then(|| format!("{} of {} CPUs", millis(available.cpu_millis), requested.cpus));
    count(available.gpus, requested.gpus, "GPUs")
        .or_else(|| count(available.efas, requested.efas, "EFA devices"))
        .or_else(|| {
            requested.extended.iter().find_map(|(name, requested)| {
                count(
                    available.extended.get(name).copied().unwrap_or(0),
                    *requested,
                    name,
                )
            })
        })
        .or_else(|| bytes(available.huge_pages, requested.huge_pages, "huge pages (2 MiB)"))
        .or(cpus)
        .or_else(|| bytes(available.memory, requested.memory, "memory"))
}

/// Describes the first type of device that an exclusive worker would leave partly unused.
fn surplus(available: &Amounts, requested: &WorkerResources) -> Option<String> {
    let unused = |available: u64, requested: u32, name: &str, field: &str| {
        (available > u64::from(requested)).then(|| {
            format!(
                "has {available} {name} but a worker requests {requested}, and an exclusive worker must request all of \
                 them: set spec.resources.{field} to {available}, or spec.placement.exclusive to false"
            )
        })
    };
    unused(available.gpus, requested.gpus, "GPUs", "gpus")
        .or_else(|| unused(available.efas, requested.efas, "EFA devices", "efas"))
}

fn millis(millis: u64) -> String {
    match millis % 1000 {
        0 => (millis / 1000).to_string(),
        _ => format!("{}.{:03}", millis / 1000, millis % 1000),
    }
}

/// Whether `toleration` matches `taint` according to the scheduler's rules: a missing key with the operator `Exists`
/// matches any key, a missing effect matches any effect, and the default operator is `Equal`.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration
        .effect
        .as_deref()
        .is_none_or(|effect| effect == taint.effect);
    let exists = toleration.operator.as_deref() == Some("Exists");
    let value = exists || toleration.value.as_deref().unwrap_or_default() == taint.value;
    match toleration.key.as_deref().filter(|key| !key.is_empty()) {
        Some(key) => effect && key == taint.key && value,
        None => effect && exists,
    }
}

/// If the placement requires a single zone, removes the eligible nodes in zones that do not have enough of them.
fn in_one_zone(fit: &[&NodeState], placement: &Placement) -> Result<Candidates, PreflightError> {
    let workers = placement.worker_count() as usize;
    let mut zones: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for node in fit {
        if let Some(zone) = node.zone() {
            zones.entry(zone).or_default().insert(node.name.clone());
        }
    }
    if zones.is_empty() || !placement.single_zone {
        return Ok(Candidates {
            nodes: fit.iter().map(|node| node.name.clone()).collect(),
            zoned: !zones.is_empty(),
        });
    }
    let counts = zones
        .iter()
        .map(|(zone, nodes)| format!("{} in {zone}", nodes.len()));
    let counts = join_limited(counts.collect());
    let large = zones.into_values().filter(|nodes| nodes.len() >= workers);
    let nodes: BTreeSet<_> = large.flatten().collect();
    match nodes.is_empty() {
        true => Err(PreflightError::SeveralZones {
            workers: placement.worker_count(),
            zones: counts,
        }),
        false => Ok(Candidates { nodes, zoned: true }),
    }
}

/// Joins up to [`MAX_LISTED`] entries, and appends the number of omitted ones.
fn join_limited(mut entries: Vec<String>) -> String {
    let more = entries.len().saturating_sub(MAX_LISTED);
    entries.truncate(MAX_LISTED);
    if more > 0 {
        entries.push(format!("{more} more"));
    }
    entries.join("; ")
}

#[cfg(test)]
mod tests;
