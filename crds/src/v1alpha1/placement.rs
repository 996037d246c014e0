//! Number of workers and the nodes they may run on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ManyToMany;
#[cfg(feature = "crd")]
use crate::names::{LABEL_KEY_PATTERN, LABEL_VALUE_PATTERN, SUBDOMAIN_PATTERN};

/// Default number of workers for patterns that do not determine the number.
const DEFAULT_WORKERS: u32 = 2;

/// Number of workers and the nodes they may run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("self.pattern == 'ManyToMany' ? has(self.senders) && has(self.receivers) : !has(self.senders) && !has(self.receivers)").message("senders and receivers must both be set if pattern is ManyToMany, and must not be set otherwise"),
    validation = kube::core::Rule::new("!has(self.senders) || !has(self.receivers) || self.senders + self.receivers <= 64").message("senders and receivers together must not exceed 64 workers"),
    validation = kube::core::Rule::new("!has(self.senders) || !has(self.receivers) || !has(self.workers) || self.workers == self.senders + self.receivers").message("workers must be the sum of senders and receivers; it can be omitted").field_path(".workers"),
    validation = kube::core::Rule::new(format!("!has(self.nodeSelector) || self.nodeSelector.all(key, key.size() <= 317 && key.matches(r'{LABEL_KEY_PATTERN}'))")).message("each key must be the key of a node label, such as topology.kubernetes.io/zone: letters, digits, `-`, `_` and `.`, with a DNS name and `/` in front of it if the label has one").field_path(".nodeSelector"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placement {
    /// Number of workers. Each worker is a pod on a separate node. Defaults to 2, or to the sum of senders and
    /// receivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 2, max = 64)))]
    pub workers: Option<u32>,
    /// Pattern that selects the pairs of workers that exchange data. Defaults to Pairwise.
    #[serde(default)]
    pub pattern: Pattern,
    /// Number of workers that send. Required if pattern is ManyToMany; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 63)))]
    pub senders: Option<u32>,
    /// Number of workers that receive. Required if pattern is ManyToMany; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 63)))]
    pub receivers: Option<u32>,
    /// Whether the worker nodes are reserved for this run. An exclusive worker must request all EFA devices and GPUs of
    /// its node. Defaults to true.
    #[serde(default = "default_true")]
    pub exclusive: bool,
    /// Whether all workers must run in the same zone. EFA traffic cannot cross zones. Defaults to true.
    #[serde(default = "default_true")]
    pub single_zone: bool,
    /// Labels that a node must have to run a worker.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "crd", schemars(extend(
        "maxProperties" = 16,
        "additionalProperties" = serde_json::json!({"type": "string", "maxLength": 63, "pattern": LABEL_VALUE_PATTERN})
    )))]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations of the worker pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub tolerations: Vec<Toleration>,
    /// What the run does while too few nodes meet its workers' requirements. Defaults to Warn if queueName is set or if
    /// no node has the labels in nodeSelector, because a queue or a cluster autoscaler may add nodes. Otherwise,
    /// defaults to Wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<PreflightMode>,
    /// Required position of each NIC relative to the memory that it accesses. Cases that use a NIC in another position
    /// fail. Defaults to None: any position is accepted, and reports show the actual positions.
    #[serde(default, skip_serializing_if = "Alignment::is_none")]
    pub align: Alignment,
    /// Name of the Kueue LocalQueue that the Jobs are submitted to. If unset, Jobs are not queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 63), regex(pattern = SUBDOMAIN_PATTERN))
    )]
    pub queue_name: Option<String>,
    /// Name of the PriorityClass for the worker pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 253), regex(pattern = SUBDOMAIN_PATTERN))
    )]
    pub priority_class_name: Option<String>,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            workers: None,
            pattern: Pattern::default(),
            senders: None,
            receivers: None,
            exclusive: true,
            single_zone: true,
            node_selector: BTreeMap::new(),
            preflight: None,
            align: Alignment::None,
            tolerations: Vec::new(),
            queue_name: None,
            priority_class_name: None,
        }
    }
}

impl Placement {
    /// Senders and receivers if the pattern is [`Pattern::ManyToMany`]; `None` for other patterns.
    pub fn many_to_many(&self) -> Option<ManyToMany> {
        match self.pattern {
            Pattern::Pairwise => None,
            Pattern::ManyToMany => Some(ManyToMany {
                senders: self.senders?,
                receivers: self.receivers?,
            }),
        }
    }

    /// Number of workers, with the default applied.
    pub fn worker_count(&self) -> u32 {
        match self.many_to_many() {
            Some(pattern) => pattern.workers(),
            None => self.workers.unwrap_or(DEFAULT_WORKERS),
        }
    }
}

/// Pattern that selects the pairs of workers that exchange data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Pattern {
    /// Every pair of workers exchanges data. Disjoint pairs are measured concurrently (circle method).
    #[default]
    Pairwise,
    /// All senders transfer to all receivers concurrently: one receiver makes it an incast, and one sender a fan-out.
    /// The scenarios must be unidirectional transfers in a closed loop that run for a fixed duration, or parameter
    /// serving. In parameter serving, every sender is a trainer whose workers run in all receiver pods.
    ManyToMany,
}

/// What the run does while too few nodes meet the workers' requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum PreflightMode {
    /// The run waits until enough nodes meet the requirements.
    Wait,
    /// The pods are created, and the run reports the unmet requirements while the pods cannot be scheduled. A cluster
    /// autoscaler adds nodes only for pods that cannot be scheduled.
    Warn,
}

/// Required position of a NIC relative to the memory that it accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Alignment {
    /// Any position is accepted.
    #[default]
    None,
    /// The NIC and the memory must be on the same NUMA node.
    NumaNode,
    /// The NIC and the GPU must be below the same PCI root complex. Host memory must be on the NUMA node of the NIC.
    PciRoot,
}

impl Alignment {
    /// Whether any position is accepted.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Toleration allows worker pods to be scheduled on nodes with matching taints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("has(self.key) && self.key != '' || has(self.operator) && self.operator == 'Exists'").message("a toleration without a key matches all keys, which requires the operator Exists: set key, or set operator to Exists"),
    validation = kube::core::Rule::new("!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''").message("the operator Exists matches any value: remove value, or set operator to Equal").field_path(".value"),
    validation = kube::core::Rule::new("!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'").message("only a NoExecute taint is tolerated for a limited time: set effect to NoExecute, or remove tolerationSeconds").field_path(".tolerationSeconds"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// Key of the taint that the toleration applies to. If unset, the toleration matches all keys, and the operator must be
    /// `Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 317), regex(pattern = LABEL_KEY_PATTERN))
    )]
    pub key: Option<String>,
    /// Operator that relates the key to the value: `Exists` or `Equal`. Defaults to `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(regex(pattern = "^(Exists|Equal)$")))]
    pub operator: Option<String>,
    /// Value of the taint that the toleration matches. Must not be set if the operator is `Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(max = 63), regex(pattern = LABEL_VALUE_PATTERN))
    )]
    pub value: Option<String>,
    /// Effect of the taint that the toleration matches: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. If unset, the
    /// toleration matches all effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(regex(pattern = "^(NoSchedule|PreferNoSchedule|NoExecute)$"))
    )]
    pub effect: Option<String>,
    /// Period for which a `NoExecute` taint is tolerated, in seconds. Must not be set for other effects. If unset, the taint is tolerated indefinitely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

fn default_true() -> bool {
    true
}
