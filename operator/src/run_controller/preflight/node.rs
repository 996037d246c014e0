//! Fields of a node that the preflight check depends on. Performs no I/O.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Node;

use super::quantity::millis;
use crate::run_controller::build::{affinity, resources};

/// State of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeState {
    /// Name of the node.
    pub name: String,
    /// Labels of the node.
    pub labels: BTreeMap<String, String>,
    /// `NoSchedule` and `NoExecute` taints.
    pub taints: Vec<Taint>,
    /// Whether the node is cordoned.
    pub unschedulable: bool,
    /// Whether the `Ready` condition is true.
    pub ready: bool,
    /// Allocatable resources.
    pub allocatable: Amounts,
}

/// Taint that prevents scheduling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taint {
    /// Key of the taint.
    pub key: String,
    /// Value of the taint; may be empty.
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

/// Resource amounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    /// CPU, in millicores.
    pub cpu_millis: u64,
    /// Memory in bytes.
    pub memory: u64,
    /// Number of EFA devices.
    pub efas: u64,
    /// Number of GPUs.
    pub gpus: u64,
    /// 2 MiB huge pages, in bytes.
    pub huge_pages: u64,
    /// Amounts of other extended resources, by resource name.
    pub extended: BTreeMap<String, u64>,
}

impl Amounts {
    /// The devices of device plugins, by resource name.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (&str, u64)> {
        let extended = self.extended.iter().map(|(name, count)| (name.as_str(), *count));
        [(resources::GPU, self.gpus), (resources::EFA, self.efas)]
            .into_iter()
            .chain(extended)
    }
}

impl NodeState {
    /// Returns the state of `node`. A missing or invalid amount is treated as 0.
    pub(crate) fn from_node(node: &Node) -> Self {
        let spec = node.spec.as_ref();
        let taints = spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let prevents_scheduling = |effect: &str| effect == "NoSchedule" || effect == "NoExecute";
        let status = node.status.as_ref();
        let mut conditions = status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let amount = |name: &str| {
            let quantity = status?.allocatable.as_ref()?.get(name)?;
            millis(&quantity.0)
        };
        let whole = |name: &str| amount(name).unwrap_or(0) / 1000;
        let allocatable = status
            .iter()
            .flat_map(|status| status.allocatable.iter().flatten());
        let is_extended =
            |name: &&String| name.contains('/') && ![resources::EFA, resources::GPU].contains(&name.as_str());
        let extended = allocatable.map(|(name, _)| name).filter(is_extended);
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            taints: taints
                .filter(|taint| prevents_scheduling(&taint.effect))
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
                extended: extended.map(|name| (name.clone(), whole(name))).collect(),
            },
        }
    }

    /// Zone of the node.
    pub(crate) fn zone(&self) -> Option<&str> {
        self.labels.get(affinity::ZONE).map(String::as_str)
    }
}
