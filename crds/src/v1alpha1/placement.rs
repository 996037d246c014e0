//! How many workers there are, and where they may run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many workers there are, and where they may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Placement {
    /// Number of workers, one pod each on a node of its own.
    #[serde(default = "two_workers")]
    #[cfg_attr(feature = "crd", schemars(range(min = 2, max = 64)))]
    pub workers: u32,
    /// Which workers exchange bytes.
    #[serde(default)]
    pub pattern: Pattern,
    /// Whether a worker shares its node with no other run: it then has to ask for all EFAs and GPUs of the node.
    #[serde(default = "yes")]
    pub exclusive: bool,
    /// Whether all workers must be in one zone. EFA does not cross zones.
    #[serde(default = "yes")]
    pub single_zone: bool,
    /// Labels a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "crd", schemars(extend(
        "maxProperties" = 16,
        "additionalProperties" = serde_json::json!({"type": "string", "maxLength": 63})
    )))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints the workers tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub tolerations: Vec<Toleration>,
    /// Queue the Jobs are submitted to (Kueue).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 63)))]
    pub queue_name: Option<String>,
    /// Priority class of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 253)))]
    pub priority_class_name: Option<String>,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            workers: two_workers(),
            pattern: Pattern::default(),
            exclusive: true,
            single_zone: true,
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            queue_name: None,
            priority_class_name: None,
        }
    }
}

/// Which workers exchange bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Pattern {
    /// Every pair of workers, disjoint pairs at the same time (circle method).
    #[default]
    Pairwise,
}

/// A taint the workers tolerate, as in a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// Key of the taint; every taint where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 316)))]
    pub key: Option<String>,
    /// `Exists` or `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(regex(pattern = "^(Exists|Equal)$")))]
    pub operator: Option<String>,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 63)))]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(regex(pattern = "^(NoSchedule|PreferNoSchedule|NoExecute)$"))
    )]
    pub effect: Option<String>,
    /// How long a `NoExecute` taint is tolerated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

fn two_workers() -> u32 {
    2
}

fn yes() -> bool {
    true
}
