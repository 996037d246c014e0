//! A node, as far as a preflight looks at it. Pure.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Node;

use super::quantity::millis;
use crate::run_controller::build::{affinity, resources};

/// A node. Keep of its labels only what some selector names, and the zone: there are many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Taints that keep pods away.
    pub taints: Vec<Taint>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Whether its kubelet says that it is ready.
    pub ready: bool,
    /// What pods may use of it.
    pub allocatable: Amounts,
}

/// A taint that keeps pods away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; may be empty.
    pub value: String,
    /// `NoSchedule` or `NoExecute`.
    pub effect: String,
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.is_empty() {
            true => write!(f, "{}:{}", self.key, self.effect),
            false => write!(f, "{}={}:{}", self.key, self.value, self.effect),
        }
    }
}

/// What a node has; bytes where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Processors, in thousandths.
    pub cpu_millis: u64,
    /// Memory.
    pub memory: u64,
    /// EFA devices.
    pub efas: u64,
    /// GPUs.
    pub gpus: u64,
    /// Huge pages of 2 MiB.
    pub huge_pages: u64,
}

impl NodeState {
    /// What `node` is to a preflight. An amount that is not there, or cannot be read, is none.
    pub fn of(node: &Node) -> Self {
        let spec = node.spec.as_ref();
        let taints = spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let keeps_away = |effect: &str| effect == "NoSchedule" || effect == "NoExecute";
        let status = node.status.as_ref();
        let mut conditions = status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let amount = |name: &str| {
            let quantity = status?.allocatable.as_ref()?.get(name)?;
            millis(&quantity.0)
        };
        let whole = |name: &str| amount(name).unwrap_or(0) / 1000;
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            taints: taints
                .filter(|taint| keeps_away(&taint.effect))
                .map(|taint| Taint {
                    key: taint.key.clone(),
                    value: taint.value.clone().unwrap_or_default(),
                    effect: taint.effect.clone(),
                })
                .collect(),
            unschedulable: spec.and_then(|spec| spec.unschedulable) == Some(true),
            ready: conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True"),
            allocatable: Amounts {
                cpu_millis: amount("cpu").unwrap_or(0),
                memory: whole("memory"),
                efas: whole(resources::EFA),
                gpus: whole(resources::GPU),
                huge_pages: whole(resources::HUGE_PAGES),
            },
        }
    }

    /// The zone it says it is in.
    pub fn zone(&self) -> Option<&str> {
        self.labels.get(affinity::ZONE).map(String::as_str)
    }
}
