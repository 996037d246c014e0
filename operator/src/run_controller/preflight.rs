//! Whether the cluster has nodes for the workers of a run, before anything is created. Pure.
//!
//! Looks at what nodes have, not at what is free: what is in use now is the scheduler's to wait for. Says of every node
//! that does not fit why, with its name and the number.

mod node;
mod quantity;

use std::collections::{BTreeMap, BTreeSet};

use crds::units::Size;
use crds::v1alpha1::{Placement, Toleration};
use snafu::Snafu;

pub use node::{Amounts, NodeState, Taint};

use super::build::resources::WorkerResources;

/// Most nodes that a message names.
const NAMED: usize = 8;

/// What the workers of a run need.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// How many workers, and where they may be.
    pub placement: &'a Placement,
    /// What each asks for.
    pub resources: WorkerResources,
    /// The nodes of the attempts before: the workers must be on these. Empty where there was none.
    pub nodes: &'a [String],
}

/// Nodes that fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Their names.
    pub nodes: BTreeSet<String>,
    /// Whether they say in which zone they are. Where none does, workers cannot be kept in one.
    pub zoned: bool,
}

/// Why there are not enough nodes. Its words are for the status.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum Unfit {
    /// No node has the labels.
    #[snafu(display("none of {nodes} nodes has the labels {labels} (spec.placement.nodeSelector)"))]
    NoLabels {
        /// Nodes of the cluster.
        nodes: usize,
        /// What is asked for.
        labels: String,
    },
    /// A node of the attempts before is not there.
    #[snafu(display(
        "node {node} is gone, on which the blocks that are finished were measured: blocks of different nodes cannot be \
         compared"
    ))]
    Gone {
        /// Its name.
        node: String,
    },
    /// Not enough nodes have what is asked for.
    #[snafu(display("{fit} of {matching} nodes fit and {workers} are needed: {why}"))]
    TooFew {
        /// Nodes that fit.
        fit: usize,
        /// Nodes with the labels.
        matching: usize,
        /// Nodes needed.
        workers: u32,
        /// Why others do not, node by node.
        why: String,
    },
    /// Not enough of them are in one zone.
    #[snafu(display(
        "{workers} nodes of one zone are needed (spec.placement.singleZone), and those that fit are spread: {zones}"
    ))]
    Spread {
        /// Nodes needed.
        workers: u32,
        /// Zones, with how many nodes fit in each.
        zones: String,
    },
}

/// The nodes that the workers may be on.
///
/// # Errors
/// When there are not enough, with the reason for every node that could be meant.
pub fn preflight(wanted: &Wanted<'_>, nodes: &[NodeState]) -> Result<Candidates, Unfit> {
    let placement = wanted.placement;
    let missing = wanted
        .nodes
        .iter()
        .find(|name| !nodes.iter().any(|node| node.name == **name));
    if let Some(node) = missing {
        return Err(Unfit::Gone { node: node.clone() });
    }
    let has = |node: &NodeState, (key, value): (&String, &String)| node.labels.get(key) == Some(value);
    let meant = |node: &&NodeState| {
        let chosen = wanted.nodes.is_empty() || wanted.nodes.contains(&node.name);
        chosen && placement.node_selector.iter().all(|label| has(node, label))
    };
    let matching: Vec<_> = nodes.iter().filter(meant).collect();
    if matching.is_empty() {
        let labels = placement
            .node_selector
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        return Err(Unfit::NoLabels {
            nodes: nodes.len(),
            labels: labels.collect::<Vec<_>>().join(", "),
        });
    }
    let mut fit = Vec::new();
    let mut unfit = Vec::new();
    for node in &matching {
        match misfit(node, wanted) {
            None => fit.push(*node),
            Some(why) => unfit.push(format!("{}: {why}", node.name)),
        }
    }
    if fit.len() < placement.workers as usize {
        return Err(Unfit::TooFew {
            fit: fit.len(),
            matching: matching.len(),
            workers: placement.workers,
            why: match unfit.is_empty() {
                true => "there are no other nodes that it may use".to_owned(),
                false => listed(unfit),
            },
        });
    }
    in_a_zone(&fit, placement)
}

/// Why `node` does not fit; `None` where it does.
fn misfit(node: &NodeState, wanted: &Wanted<'_>) -> Option<String> {
    if !node.ready {
        return Some("not ready".to_owned());
    }
    if node.unschedulable {
        return Some("cordoned".to_owned());
    }
    let tolerated = |taint: &&Taint| {
        wanted
            .placement
            .tolerations
            .iter()
            .any(|one| tolerates(one, taint))
    };
    if let Some(taint) = node.taints.iter().find(|taint| !tolerated(taint)) {
        return Some(format!("has the taint {taint}, which is not tolerated"));
    }
    lacks(&node.allocatable, &wanted.resources).or_else(|| {
        let exclusive = wanted.placement.exclusive;
        exclusive
            .then(|| leaves(&node.allocatable, &wanted.resources))
            .flatten()
    })
}

/// What a node has less of than a worker asks for.
fn lacks(has: &Amounts, wants: &WorkerResources) -> Option<String> {
    let count = |has: u64, wants: u32, what: &str| {
        (has < u64::from(wants)).then(|| format!("{has} of {wants} {what}"))
    };
    let bytes = |has: u64, wants: u64, what: &str| {
        (has < wants).then(|| format!("{} of {} of {what}", Size(has), Size(wants)))
    };
    let cpus = (has.cpu_millis < u64::from(wants.cpus) * 1000)
        .then(|| format!("{} of {} processors", millis(has.cpu_millis), wants.cpus));
    count(has.gpus, wants.gpus, "GPUs")
        .or_else(|| count(has.efas, wants.efas, "EFA devices"))
        .or_else(|| bytes(has.huge_pages, wants.huge_pages, "huge pages (2 MiB)"))
        .or(cpus)
        .or_else(|| bytes(has.memory, wants.memory, "memory"))
}

/// What a worker that is alone on its node would leave to others.
fn leaves(has: &Amounts, wants: &WorkerResources) -> Option<String> {
    let left = |has: u64, wants: u32, what: &str, field: &str| {
        (has > u64::from(wants)).then(|| {
            format!(
                "has {has} {what} of which a worker asks for {wants}, and an exclusive one asks for all: set \
                 spec.resources.{field} to {has}, or spec.placement.exclusive to false"
            )
        })
    };
    left(has.gpus, wants.gpus, "GPUs", "gpus").or_else(|| left(has.efas, wants.efas, "EFA devices", "efas"))
}

fn millis(millis: u64) -> String {
    match millis % 1000 {
        0 => (millis / 1000).to_string(),
        _ => format!("{}.{:03}", millis / 1000, millis % 1000),
    }
}

/// As the scheduler matches: no key is every key, no effect every effect, no operator `Equal`.
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

fn in_a_zone(fit: &[&NodeState], placement: &Placement) -> Result<Candidates, Unfit> {
    let workers = placement.workers as usize;
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
    let said = zones
        .iter()
        .map(|(zone, nodes)| format!("{zone} {}", nodes.len()));
    let said = listed(said.collect());
    let large = zones.into_values().filter(|nodes| nodes.len() >= workers);
    let nodes: BTreeSet<_> = large.flatten().collect();
    match nodes.is_empty() {
        true => Err(Unfit::Spread {
            workers: placement.workers,
            zones: said,
        }),
        false => Ok(Candidates { nodes, zoned: true }),
    }
}

fn listed(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join("; ")
}

#[cfg(test)]
mod tests;
